import Glibc
import Testing
import TransferIO
import TransferModel
import TransferProtocol
import TransferServer
import TransferTestSupport

extension ServerTests {
    /// Compares a server's answers to recorded bytes with recorded answers, byte for byte. `TRANSFER_GOLDEN=write swift
    /// test --filter RecordedConversationTests` writes `Tests/golden/conversation.txt` again. A difference between the
    /// old and the new file is a change of the protocol.
    @Suite(.directoryOnly) struct RecordedConversationTests {
        private static let path =
            "/" + #filePath.split(separator: "/").dropLast(3).joined(separator: "/") + "/golden/conversation.txt"

        private static let introduction = """
            What a client says to a server, and what it answers: see RecordedConversation.swift.
            Zeros stand for what differs from run to run, and a sentence for long content: see RecordedFrame.swift.


            """

        static let isWriting = getenv("TRANSFER_GOLDEN").map { String(cString: $0) } == "write"

        @Test(.enabled(if: isWriting)) func isWritten() async throws {
            try await Self.serving { server in
                let conversations = try RecordedConversationScript.all.map { script in
                    try script.conversation.played(
                        on: server, pieces: nil, waitingFor: script.steps.map(\.answers))
                }
                let text = Self.introduction + RecordedConversation.text(conversations)
                try #require(TestServer.write(Array(text.utf8), Self.path))
            }
        }

        /// - Parameter pieces: number of bytes sent at once.
        @Test(.enabled(if: !isWriting, "what is compared is just being written anew"), arguments: [nil, 61, 7])
        func staysAsItIs(pieces: Int?) async throws {
            let bytes = try #require(TestServer.read(Self.path))
            let conversations = try RecordedConversation.read(String(decoding: bytes, as: UTF8.self))
            #expect(conversations.count > 10)
            try await Self.serving { server in
                for recorded in conversations {
                    let played = try recorded.played(
                        on: server, pieces: pieces, waitingFor: recorded.steps.map(\.answers.count))
                    for (now, then) in zip(played.steps, recorded.steps) where now != then {
                        Issue.record("\(recorded.title), another answer:\n\(now.text)\nwhere there was\n\(then.text)")
                    }
                }
            }
        }

        /// The server listens on a Unix socket, because receipts contain the sender's address.
        private static func serving(_ body: @escaping @Sendable (TestServer) throws -> Void) async throws {
            let directory = try TemporaryDirectory()
            try await TransferServerTests.serving(
                {
                    $0.agent = "recorded"
                    $0.timeouts = Liveness.Timeouts()
                    $0.offersOwners = false
                    $0.tellsDirectory = false
                    $0.maximumUpload = 1 << 30
                    $0.drain = .seconds(3600)
                }, listen: [.unix(path: directory.path("socket"))], in: directory, body)
        }
    }
}
