import Glibc
import Testing
import TransferPorts
import TransferCatalog
import TransferModel
import TransferProtocol
import TransferSystem
import TransferTestSupport

@testable import TransferServer
@testable import TransferStore

extension ServerTests {
    @Suite(.directoryOnly) struct ScrubTests {
        private static let long = SplitMix64.bytes(seed: 11, 2 * Limits.blockSize + 5)

        private let fixture: ScrubFixture

        init() throws {
            fixture = try ScrubFixture()
        }

        @Test(arguments: DigestFunction.allCases)
        func whatWasStoredIsIntact(_ function: DigestFunction) async throws {
            try await fixture.push([("a", []), ("d/e/b", [1]), ("c", Self.long), ("d\n\u{1B}[2J", [2])], function)
            let outcome = try fixture.scrub()
            #expect(outcome.found.isEmpty)
            #expect(outcome.summary.isWell)
            #expect(outcome.summary.intact == .init(files: 4, bytes: UInt64(Self.long.count + 2)))
            #expect(outcome.summary.unfinished == .init())
        }

        /// If a damaged file has unchanged times, the server reports it as stored until a scrub finds the damage.
        /// Pushing the file again then heals it.
        @Test(arguments: [false, true]) func whatRottedIsHealed(repairing: Bool) async throws {
            try await fixture.push([("a", Self.long), ("b", [1])])
            fixture.rot("a", at: Limits.blockSize + 3)
            try fixture.hideTouch("a")
            #expect(try await fixture.push([("a", Self.long)]).map(\.code) == [.alreadyStored])
            let outcome = try fixture.scrub(repairing: repairing)
            #expect(outcome.found == ["rotten a"] && !outcome.summary.isWell)
            #expect(outcome["a"]?.recorded == Frames.digest(Self.long))
            #expect(outcome["a"]?.found != outcome["a"]?.recorded)

            #expect(try fixture.scrub(repairing: repairing).found == ["rotten a"])
            let again = try await fixture.push([("a", Self.long), ("b", [1])])
            #expect(again.map(\.code) == [.committed, .alreadyStored])
            #expect(again[0].storedPath == nil && TestServer.read(fixture.path("a-1")) == nil)
            #expect(TestServer.read(fixture.path("a")) == Self.long)
            #expect(try fixture.scrub().found.isEmpty)
        }

        /// Restoring the time of modification does not hide a change.
        @Test func whoRestoresTheTimeOfModificationHasNotChangedAnything() async throws {
            try await fixture.push([("a", [1, 2, 3])])
            fixture.rot("a")
            #expect(try fixture.scrub().found == ["rotten a"])
        }

        @Test func whatIsMissingLeavesTheCatalog() async throws {
            try await fixture.push([("d/a", [1]), ("b", [2]), ("c", [3]), ("e", [4])])
            unlink(fixture.path("d/a"))
            rmdir(fixture.path("d"))
            unlink(fixture.path("b"))
            mkdir(fixture.path("b"), 0o700)
            unlink(fixture.path("c"))
            symlink("e", fixture.path("c"))
            let outcome = try fixture.scrub()
            #expect(outcome.found == ["missing b", "missing c", "missing d/a"])
            #expect(!outcome.summary.isWell)
            let repaired = try fixture.scrub(repairing: true)
            #expect(repaired.summary.repairs?.removed == 3)
            let after = try fixture.scrub()
            #expect(after.found.isEmpty && after.summary.isWell && after.summary.intact.files == 1)
        }

        /// Clients get no acknowledgement with a path in the trash, so a file that is gone from there is not missing.
        @Test(arguments: [false, true]) func whatIsInTheTrashIsNotMissing(repairing: Bool) async throws {
            try await fixture.push([("d/a", [1]), ("b", [2]), ("c", [3])])
            try await serving(in: fixture.directory) { server in
                let client = try server.greetedClient()
                for path in ["b", "d"] {
                    client.ask(.remove(RemoveRequest(path: path, isRecursive: true, keepsInTrash: true)))
                    #expect(try client.outcome().code == .completed)
                }
            }
            let outcome = try fixture.scrub(repairing: repairing)
            #expect(outcome.found.isEmpty && outcome.summary.isWell && outcome.summary.intact.files == 1)
            #expect(try fixture.scrub(repairing: repairing).found.isEmpty)
        }

        @Test func whatWasChangedIsToldAndTakenOver() async throws {
            try await fixture.push([("a", [1, 2]), ("b", [1]), ("touched", [5])])
            try TestServer.write([3, 4, 5], to: fixture.path("a"))
            utimensat(AT_FDCWD, fixture.path("touched"), nil, 0)
            let outcome = try fixture.scrub()
            #expect(outcome.found == ["changed a"])
            #expect(outcome.summary.isWell)
            #expect(try fixture.scrub(repairing: true).summary.repairs?.updated == 1)
            #expect(try fixture.scrub().found.isEmpty)
            // The acknowledgement of the old content does not hold for the new content.
            let again = try await fixture.push([("a", [1, 2])])
            #expect(again.map(\.code) == [.committed] && again[0].storedPath == "a-1")
        }

        @Test func untrackedFilesEnterTheCatalog() async throws {
            try await fixture.push([("a", [1])])
            try TestServer.write([7, 8], to: fixture.path("new\nline"))
            mkfifo(fixture.path("fifo"), 0o600)
            let outcome = try fixture.scrub()
            #expect(outcome.found == ["untracked new\nline"])
            #expect(outcome.summary.isWell && outcome.summary.others == 1)
            #expect(try fixture.scrub(repairing: true).summary.repairs == .init(added: 1))
            #expect(try fixture.scrub().summary.intact.files == 2)
            fixture.rot("new\nline", at: 1)
            #expect(try fixture.scrub().found == ["rotten new\nline"])
        }

        /// If several uploads claim a path, the last one counts.
        @Test func whatWasReplacedIsTheNewOne() async throws {
            try await serving(in: fixture.directory) { server in
                let client = try server.greetedClient()
                client.send(Frames.upload("a", [1]) + Frames.upload("a", [2, 3], conflict: .overwrite))
                client.send(Frames.upload("a", [2, 3]))
                for _ in 0..<3 { #expect(try client.result().code.isSuccess) }
            }
            let outcome = try fixture.scrub()
            #expect(outcome.found.isEmpty && outcome.summary.intact == .init(files: 1, bytes: 2))
        }

        @Test(arguments: [EIO, EACCES]) func whatCannotBeReadIsNotMissing(_ error: Int32) async throws {
            try await fixture.push([("a", [1]), ("d/b", [2])])
            let failing = Disk(interception: { call, body in
                switch call {
                case .read: -Int(error)
                case .open(_, "d", _): -Int(error)
                default: body()
                }
            })
            for repairing in [false, true] {
                let outcome = try fixture.scrub(repairing: repairing, through: failing)
                #expect(outcome.found == ["unreadable a", "unreadable d", "unreadable d/b"])
                #expect(outcome.findings.allSatisfy { $0.reason.contains(String(cString: strerror(error))) })
                #expect(!outcome.summary.isWell)
            }
            #expect(try fixture.scrub().found.isEmpty)
        }
    }
}

// MARK: Catalogs and servers

extension ServerTests.ScrubTests {
    @Test(arguments: [true, false]) func aCatalogThatIsLostIsMadeAnew(_ isThere: Bool) async throws {
        let files: [(String, [UInt8])] = (0..<700).map { ("d/file-\($0)", [1, UInt8(truncatingIfNeeded: $0)]) }
        try await fixture.push(files)
        for suffix in ["", "-wal", "-shm"] { unlink(fixture.path(".transfer/catalog.sqlite" + suffix)) }
        let nonsense = SplitMix64.bytes(seed: 5, 9_000)
        if isThere { try TestServer.write(nonsense, to: fixture.path(".transfer/catalog.sqlite")) }
        let outcome = try fixture.scrub()
        #expect(outcome.findings.isEmpty)
        #expect(outcome.summary.catalogFault?.isEmpty == false && !outcome.summary.isWell)
        #expect(outcome.summary.findings[.untracked]?.files == 700)

        let repaired = try fixture.scrub(repairing: true)
        #expect(repaired.summary.isWell && repaired.summary.repairs?.added == 700)
        let movedTo = repaired.summary.repairs?.movedTo
        #expect((movedTo != nil) == isThere)
        if let movedTo { #expect(TestServer.read(movedTo) == nonsense) }
        let after = try fixture.scrub()
        #expect(after.summary.isWell && after.summary.intact.files == 700)
        #expect(TestServer.read(fixture.path("d/file-9")) == [1, 9])
    }

    /// The server stores and replaces files during the scrubs.
    @Test func besideARunningServerNothingIsSaidTooEarly() async throws {
        try await fixture.push([("old", [1])])
        try await serving(in: fixture.directory) { [fixture] server in
            let pusher = TestPusher(try server.greetedClient())
            for _ in 0..<20 {
                let outcome = try fixture.scrub()
                #expect(outcome.found.isEmpty)
                #expect(outcome.summary.isWell)
            }
            #expect(throws: ServerError.self) { try fixture.scrub(repairing: true) }
            try pusher.finish()
        }
        #expect(try fixture.scrub().found.isEmpty)
    }

    @Test func besideAServerWhatIsWrongIsStillTold() async throws {
        try await fixture.push([("a", [1]), ("b", [2]), ("c", [3])])
        try await serving(in: fixture.directory) { [fixture] _ in
            fixture.rot("a")
            unlink(fixture.path("b"))
            try TestServer.write([1], to: fixture.path("new"))
            let outcome = try fixture.scrub()
            #expect(outcome.found == ["missing b", "rotten a"])
            #expect(outcome.summary.recent.files == 1)
        }
    }

    /// The server has renamed files, and has not recorded that yet.
    @Test(arguments: [false, true]) func besideAServerThatMovesNothingIsMissing(isFolder: Bool) async throws {
        try await fixture.push([("d/a", [1]), ("d/b", [2])])
        try await serving(in: fixture.directory) { [fixture] _ in
            let catalog = Catalog(path: Catalog.path(in: fixture.directory.path("store")), isDurable: false) { _ in }
            defer { try? catalog.close() }
            let names = isFolder ? ["d"] : ["d/a", "d/b"]
            let store = try StoredFiles(path: fixture.directory.path("store"))
            let changes = try names.map { name in
                let found = try #require(try store.object(at: try RelativePath(name)))
                return IntendedChange(
                    isFolder ? .folder : .move, name, to: "new-\(name)", before: found.version, at: utcNanoseconds())
            }
            let noted = try catalog.intend(changes)
            if !isFolder { mkdir(fixture.path("new-d"), 0o755) }
            for name in names { #expect(rename(fixture.path(name), fixture.path("new-\(name)")) == 0) }
            let outcome = try fixture.scrub()
            #expect(outcome.found.isEmpty && outcome.summary.recent.files == 4)
            try catalog.complete(noted, KnownChanges())
            #expect(try fixture.scrub().found == ["missing d/a", "missing d/b"])
        }
    }

    @Test func aDirectoryWithoutAServersFolderIsRefused() throws {
        let directory = try TemporaryDirectory()
        #expect(throws: Failure.self) { try StoredFiles(path: directory.path) }
        #expect(throws: Failure.self) { try StoredFiles(path: directory.path("no")) }
    }
}

/// Stores new files and replaces old ones on a separate thread until it is stopped.
private final class TestPusher: Sendable {
    private let isOver = Locked(false)
    private let failure = Locked<(any Error)?>(nil)
    private let thread = Locked<TestThread?>(nil)

    init(_ client: RawClient) {
        let thread = TestThread { [self] in
            do { try push(client) } catch { failure.withLock { $0 = error } }
        }
        self.thread.withLock { $0 = thread }
    }

    private func push(_ client: RawClient) throws {
        var number = 0
        while !isOver.withLock({ $0 }) {
            number += 1
            let content = SplitMix64.bytes(seed: UInt64(number), 1 + number % 9_000)
            client.send(Frames.upload("new/file-\(number)", content))
            client.send(Frames.upload("replaced-\(number % 3)", content, conflict: .overwrite))
            for _ in 0..<2 { #expect(try client.result().code.isSuccess) }
        }
    }

    func finish() throws {
        isOver.withLock { $0 = true }
        thread.withLock { $0 }?.join()
        if let error = failure.withLock({ $0 }) { throw error }
    }
}
