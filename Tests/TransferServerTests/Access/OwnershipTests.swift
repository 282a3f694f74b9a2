import CLinux
import Glibc
import Testing
import TransferPorts
import TransferAccess
import TransferCatalog
import TransferIntake
import TransferKeys
import TransferModel
import TransferSystem
import TransferTestSupport

@testable import TransferServer
@testable import TransferStore

extension ServerTests {
    /// Clients replace files, and some may replace only their own.
    @Suite struct OwnershipTests {
        private let fixture: ScrubFixture
        private let lists: any AccessLists
        /// Key of a client that may replace all files.
        private let owner = KeyPair()
        /// Key of a client that may replace only its own files.
        private let guest = KeyPair()

        init() throws {
            fixture = try ScrubFixture()
            _ = mkdir(fixture.directory.path("store"), 0o755)
            lists = try StoreKind.current.access(in: fixture.directory)
            try lists.admit(AuthorizedKey(owner.key, name: "owner"))
            var options = AccessOptions()
            options.rights = .noRemove
            try lists.admit(AuthorizedKey(guest.key, name: "guest", options: options))
        }

        /// - Parameter body: receives the server and the connections of owner and guest.
        private func serving(
            _ body: @escaping @Sendable (TestServer, RawClient, RawClient) throws -> Void
        ) async throws {
            let configure = { @Sendable (configuration: inout ServerConfiguration) in
                configuration.security = .identity
                configuration.access = .listed(owner: nil)
            }
            try await TransferServerTests.serving(configure, in: fixture.directory) { [owner, guest] server in
                let clients = try [owner, guest].map { pair in
                    let client = try server.securedClient(pair)
                    client.send(Frames.hello)
                    return client
                }
                try body(server, clients[0], clients[1])
            }
        }

        private static func replacing(_ path: String, _ content: [UInt8]) -> [UInt8] {
            Frames.upload(path, content, conflict: .overwrite)
        }

        // MARK: Without an owner

        /// Uploads make neither links nor pipes, so an operator has made these objects.
        @Test(.directoryOnly, arguments: ["link to a file", "link to nothing", "link to a directory", "pipe"])
        func linksAndPipesStay(_ name: String) async throws {
            symlink("a", fixture.path("link to a file"))
            symlink("nothing", fixture.path("link to nothing"))
            symlink("d", fixture.path("link to a directory"))
            mkfifo(fixture.path("pipe"), 0o644)
            try await serving { [fixture] (server, owner, guest) throws in
                let others = Frames.upload("a", [1]) + Frames.upload("d/b", [2])
                #expect(try owner.codes(2, to: others) == [.committed, .committed])
                let before = FileIdentity(Self.status(fixture.path(name)))
                #expect(try guest.codes(to: Self.replacing(name, [3])) == [.forbidden])
                #expect(FileIdentity(Self.status(fixture.path(name))) == before)
                #expect(server.content("a") == [1] && server.content("nothing") == nil)
                // A client that may replace all files may replace these objects.
                #expect(try owner.codes(to: Self.replacing(name, [3])) == [.committed])
                #expect(server.content(name) == [3])
            }
        }

        /// A file at a free path has no other owner, so any client that may store files may store it.
        @Test func aNameThatIsFreeIsNobodys() async throws {
            try await serving { (server, _, guest) throws in
                #expect(try guest.codes(to: Self.replacing("d/new", [1])) == [.committed])
                #expect(try guest.codes(to: Self.replacing("d/new", [2])) == [.committed])
                #expect(server.content("d/new") == [2])
            }
        }

        // MARK: Edited on the server

        /// Ways in which a program on the server's machine edits a file, whose number stays the same.
        enum Edit: CaseIterable {
            case sameSize, sameTime
        }

        @Test(.directoryOnly, arguments: Edit.allCases) func whatSomebodyHasEditedSince(_ edit: Edit) async throws {
            try await serving { [fixture] (server, _, guest) throws in
                #expect(try guest.codes(to: Frames.upload("c", [5])) == [.committed])
                let before = Self.status(fixture.path("c"))
                let edited: [UInt8] = edit == .sameSize ? [9] : [9, 9]
                #expect(TestServer.write(edited, fixture.path("c")))
                if edit == .sameTime { utimensat(AT_FDCWD, fixture.path("c"), [before.st_atim, before.st_mtim], 0) }
                let after = Self.status(fixture.path("c"))
                let (old, new) = (FileIdentity(before), FileIdentity(after))
                #expect(new.inode == old.inode)
                #expect((new.size == old.size) == (edit == .sameSize))
                #expect((new.modified == old.modified) == (edit == .sameTime))
                #expect(try guest.codes(to: Self.replacing("c", [6])) == [.forbidden])
                #expect(server.content("c") == edited)
            }
        }

        // MARK: Owned by another client

        /// A client that restores content lost by the disk does not become the file's owner.
        @Test(.directoryOnly) func whoeverHealsAFileDoesNotOwnIt() async throws {
            let content = SplitMix64.bytes(seed: 4, Limits.blockSize + 1)
            let upload = PartedUpload("a", content)
            try await serving { (_, owner, _) throws in
                #expect(try owner.codes(2, to: upload.inOnePart + upload.multipart) == [.staged, .committed])
            }
            fixture.rot("a")
            try fixture.hideTouch("a")
            try await serving { [fixture] (server, owner, guest) throws in
                let again = PartedUpload("a", content)
                #expect(try guest.codes(2, to: again.inOnePart + again.multipart) == [.staged, .committed])
                #expect(server.content("a") == content && server.tree == ["a"])
                #expect(try guest.codes(to: Self.replacing("a", [3])) == [.forbidden])
                #expect(server.content("a") == content)
                #expect(try owner.codes(to: Self.replacing("a", [4])) == [.committed])
                #expect(Self.status(fixture.path("a")).st_size == 1)
            }
        }

        /// A store in doubt replaces stored content by the same content of an upload; see `Publisher`.
        @Test func whoeverRestoresAFileDoesNotOwnIt() async throws {
            try await serving { (_, owner, _) throws in
                #expect(try owner.codes(to: Frames.upload("a", [1])) == [.committed])
            }
            // A server that was killed during a sync leaves this mark.
            let mark = fixture.path(".transfer/\(MarkFile.runningPrefix)\(BootID.current)")
            #expect(TestServer.write([], mark))
            try await serving { [fixture] (server, owner, guest) throws in
                guard server.server.core.store.isInDoubt else {
                    return print("skipped \(#function): nothing is in doubt in memory")
                }
                let before = Self.status(fixture.path("a"))
                #expect(try guest.codes(to: Frames.upload("a", [1])) == [.committed])
                #expect(Self.status(fixture.path("a")).st_ino != before.st_ino, "it is another file")
                #expect(try guest.codes(to: Self.replacing("a", [3])) == [.forbidden])
                #expect(server.content("a") == [1])
                #expect(try owner.codes(to: Self.replacing("a", [4])) == [.committed])
            }
        }

        private static func status(_ path: String) -> stat {
            var status = stat()
            lstat(path, &status)
            return status
        }
    }
}
