import Glibc
import Testing
import TransferPorts
import TransferStoreTestSupport
import TransferSystem
import TransferTestSupport

@testable import TransferServer
@testable import TransferStore

extension ServerTests {
    /// The machine or the process ends anywhere, and another server starts on what is left. Acknowledged uploads are
    /// stored and stay acknowledged, and a client that repeats its conversation gets everything stored once.
    @Suite(.directoryOnly) struct ServerCrashTests {
        private static let disks = [
            FileSystem(isMemory: false, syncsAsAWhole: true), FileSystem(isMemory: false, syncsAsAWhole: false),
        ]

        /// Number of random ends of each conversation, and of states for each end.
        private static let (ends, states) = (4, 3)

        @Test(arguments: CrashConversation.allCases)
        func nothingAcknowledgedIsLost(_ conversation: CrashConversation) async throws {
            let seed = Seeds.one
            var random = SplitMix64(seed: seed)
            let disk = Self.disks[Int.random(in: 0...1, using: &random)]
            let (run, wanted) = try await record(conversation, on: disk)
            var check = ServerCrashCheck(run, of: conversation, on: disk, wanted: wanted, seed: seed)
            await check.check(run.ends(Self.ends, &random), states: Self.states)
            #expect(check.problems.isEmpty, "seed \(seed)")
            #expect(check.states > 2 * Self.ends)
        }

        /// Ways in which a sync fails.
        enum Failure: CaseIterable {
            /// The sync reports an error, and the server goes on without durability.
            case error
            /// The server's process ends during the sync, so that its outcome stays unknown.
            case death
        }

        /// The next server makes uploads durable that the first one could not make durable, before it acknowledges
        /// them.
        @Test(arguments: Failure.allCases, [CrashConversation.sameIDAgain, .parts, .partsResumed, .overwrite])
        func whatFailedIsStoredAnew(failure: Failure, conversation: CrashConversation) async throws {
            let disk = Self.disks[1]
            let (_, wanted) = try await record(conversation, on: disk)
            var wait = 0
            while true {
                let (run, _) = try await record(conversation, on: disk) { [wait] script in
                    switch failure {
                    case .error: script.fail(sync: wait, with: EIO)
                    case .death: script.die(inSync: wait)
                    }
                }
                guard run.hasFailed else { break }
                let seed = Seeds.one
                var check = ServerCrashCheck(run, of: conversation, on: disk, wanted: wanted, seed: seed)
                await check.check([run.disk.effects.count], states: 2)
                #expect(check.problems.isEmpty, "sync \(wait), seed \(seed)")
                wait += 1
            }
            #expect(wait > 1)
        }

        @Test(arguments: ServerMistake.allCases) func mistakesAreNoticed(_ mistake: ServerMistake) async throws {
            let disk = Self.disks[1]
            let conversation = mistake.conversation
            let (whole, wanted) = try await record(conversation, on: disk)
            let failed =
                mistake == .failedPartKept
                ? try await record(conversation, on: disk) { $0.fail(sync: 0, with: EIO) }.run : nil
            let (run, end) = mistake.make(in: failed ?? whole)
            let seed = Seeds.one
            var check = ServerCrashCheck(run, of: conversation, on: disk, wanted: wanted, seed: seed)
            await check.check([end], states: Self.states)
            #expect(!check.problems.isEmpty, "seed \(seed)")
        }

        /// - Parameter fail: makes a call fail, which ends the conversation.
        /// - Returns: the recorded run, and the files and directories at the end.
        private func record(
            _ conversation: CrashConversation, on fileSystem: FileSystem,
            fail: (@Sendable (ScriptedDisk) -> Void)? = nil
        ) async throws -> (run: CrashRun, wanted: [String: [UInt8]?]) {
            let directory = try TemporaryDirectory(prefersMemory: true)
            try system("mkdir") { mkdir(directory.path("store"), 0o755) }
            for (path, content) in conversation.before {
                try TestServer.write(content, to: directory.path("store/\(path)"))
            }
            let recording = ServerRecording(in: directory, on: fileSystem)
            try await serving(in: directory, on: recording.foundations) { server in
                recording.start()
                var talk = try CrashTalk(server, recording)
                guard let fail else { return try talk.perform(conversation.steps) }
                fail(recording.script)
                try? talk.perform(conversation.steps)
            }
            let run = try #require(recording.run)
            return (run, CrashedDirectory.visible(directory.path("store")))
        }
    }
}
