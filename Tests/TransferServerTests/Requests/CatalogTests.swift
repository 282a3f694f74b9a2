import CLinux
import Glibc
import Testing
import TransferCatalog
import TransferModel
import TransferProtocol
import TransferPorts
import TransferStore
import TransferSystem
import TransferTestSupport

@testable import TransferServer

extension ServerTests {
    /// Uploads that the server knows after a restart, with its catalog and without.
    @Suite(.directoryOnly) struct CatalogTests {
        private static let first: UInt64 = 0x1111_2222_3333_4444
        private static let second: UInt64 = 0x5555_6666_7777_8888

        private let directory: TemporaryDirectory
        private let id = UploadID.random()

        init() throws {
            directory = try TemporaryDirectory()
        }

        /// Stores an upload with one server, and runs the body with another one.
        private func afterRestart(
            of content: [UInt8], run: UInt64? = first,
            _ body: @escaping @Sendable (TestServer, UploadResult) throws -> Void
        ) async throws {
            let acknowledged = Locked<UploadResult?>(nil)
            try await serving(in: directory) { [id] server in
                let client = try server.greetedClient(run: run)
                let size = UInt64(content.count)
                client.send(Frames.begin("d/x", size: size, id: id) + Frames.stored(content) + Frames.end(content))
                let result = try client.result()
                #expect(result.code == .committed)
                acknowledged.withLock { $0 = result }
            }
            let result = try #require(acknowledged.withLock { $0 })
            try await serving(in: directory) { server in try body(server, result) }
        }

        private func path(_ name: String) -> String { directory.path("store/" + name) }

        @Test(arguments: [first, nil]) func theSameRunGetsTheSameAcknowledgement(_ run: UInt64?) async throws {
            try await afterRestart(of: [1, 2], run: run) { [id] server, acknowledged in
                let client = try server.greetedClient(run: run)
                client.send(Frames.begin("d/x", size: 2, id: id, expectsAccept: true))
                #expect(try client.result() == acknowledged)
                client.send(.abort)
                client.send(Frames.upload("d/x", [1, 2], id: id))
                #expect(try client.result() == acknowledged)
                client.send(Frames.upload("elsewhere", [1, 2], id: id))
                #expect(try client.result().storedPath == "d/x")
                #expect(server.tree == ["d", "d/x"])
            }
        }

        /// The replaced content is gone, so a client that has missed its acknowledgement has to learn of that from the
        /// next one.
        @Test func theSameRunIsToldAgainWhatWasReplaced() async throws {
            try await serving(in: directory) { [id] server in
                let client = try server.greetedClient(run: Self.first)
                client.send(Frames.upload("x", [1]))
                #expect(try !client.result().hasReplaced)
                client.send(Frames.upload("x", [2, 3], id: id, conflict: .overwrite))
                #expect(try client.result().hasReplaced)
                client.send(Frames.begin("x", size: 2, id: id, conflict: .overwrite, expectsAccept: true))
                #expect(try client.result().hasReplaced)
            }
            try await serving(in: directory) { [id] server in
                for (run, isReplay) in [(Self.first, true), (Self.second, false)] {
                    let client = try server.greetedClient(run: run)
                    client.send(Frames.begin("x", size: 2, id: id, conflict: .overwrite, expectsAccept: true))
                    let result = try client.result()
                    #expect(result.code == (isReplay ? .committed : .alreadyStored))
                    #expect(result.hasReplaced == isReplay)
                }
            }
        }

        @Test(arguments: [(first, second), (first, nil), (nil, second)] as [(UInt64?, UInt64?)])
        func anotherRunGetsAlreadyStored(_ run: UInt64?, _ other: UInt64?) async throws {
            try await afterRestart(of: [1, 2], run: run) { [id] server, acknowledged in
                let client = try server.greetedClient(run: other)
                for _ in 0..<2 {
                    client.send(Frames.begin("d/x", size: 2, id: id, expectsAccept: true))
                    let result = try client.result()
                    #expect(result.code == .alreadyStored)
                    #expect(result.digest == acknowledged.digest)
                    #expect(result.isDurable)
                    client.send(.abort)
                }
                let again = try server.greetedClient(run: run)
                again.send(Frames.upload("d/x", [1, 2], id: id))
                #expect(try again.result() == acknowledged)
            }
        }

        /// As long as the server runs, it knows the upload from memory.
        @Test func anotherRunOfTheSameServerGetsAlreadyStored() async throws {
            try await serving { [id] server in
                for (run, code) in [
                    (Self.first, ResultCode.committed), (Self.second, .alreadyStored), (Self.first, .committed),
                ] {
                    let client = try server.greetedClient(run: run)
                    client.send(Frames.upload("x", [1], id: id))
                    #expect(try client.result().code == code)
                }
            }
        }

        @Test func otherContentIsRefused() async throws {
            try await afterRestart(of: [1, 2]) { [id] server, _ in
                let client = try server.greetedClient(run: Self.second)
                client.send(Frames.upload("d/x", [1, 3], id: id))
                #expect(try client.result().code == .contentMismatch)
                client.send(Frames.begin("d/x", size: 3, id: id, expectsAccept: true))
                #expect(try client.result().code == .contentMismatch)
                client.send(.abort)
                #expect(server.content("d/x") == [1, 2])
                #expect(server.tree == ["d", "d/x"])
            }
        }

        @Test func whatWasRemovedIsStoredAgain() async throws {
            try await afterRestart(of: [1, 2]) { [id] server, _ in
                unlink(server.directory.path("store/d/x"))
                let client = try server.greetedClient(run: Self.first)
                client.send(Frames.begin("d/x", size: 2, id: id, expectsAccept: true))
                try client.expectAccept()
                client.send(Frames.data([1, 2]) + Frames.end([1, 2]))
                #expect(try client.result().code == .committed)
                #expect(server.content("d/x") == [1, 2])
            }
        }

        /// The size is unchanged, so the file's identity and content show the change.
        @Test func whatWasChangedIsStoredAgain() async throws {
            try await afterRestart(of: [1, 2]) { [id] server, _ in
                try server.change("d/x") { write($0, [8, 9] as [UInt8], 2) }
                let client = try server.greetedClient(run: Self.first)
                client.send(Frames.upload("d/x", [1, 2], id: id))
                let result = try client.result()
                #expect(result.code == .committed)
                #expect(result.storedPath == "d/x-1")
                #expect(server.content("d/x") == [8, 9])
                #expect(server.content("d/x-1") == [1, 2])
            }
        }

        /// The server reads no file to answer a question: the client sends the content once, and the server knows it
        /// from then on.
        @Test func whatWasTouchedIsSentOnce() async throws {
            let content = SplitMix64.bytes(seed: 7, 5_000_000)
            try await afterRestart(of: content) { [id] server, _ in
                try server.change("d/x") { futimens($0, nil) }
                let client = try server.greetedClient(run: Self.first)
                client.send(Frames.begin("d/x", size: 5_000_000, id: id, expectsAccept: true))
                try client.expectAccept()
                #expect(try client.codes(to: Frames.stored(content) + Frames.end(content)) == [.alreadyStored])
                client.send(Frames.begin("d/x", size: 5_000_000, id: id, expectsAccept: true))
                #expect(try client.result().code == .alreadyStored)
                #expect(server.tree == ["d", "d/x"])
            }
        }

        @Test func aDirectoryInItsPlaceIsNotTheFile() async throws {
            try await afterRestart(of: []) { [id] server, _ in
                unlink(server.directory.path("store/d/x"))
                mkdir(server.directory.path("store/d/x"), 0o700)
                let client = try server.greetedClient(run: Self.first)
                client.send(Frames.upload("d/x", [], id: id))
                #expect(try client.result().storedPath == "d/x-1")
            }
        }

        /// If the client uses another hash function, the server cannot compare digests, so the client has to send the
        /// content.
        @Test func anotherDigestIsANewUpload() async throws {
            try await afterRestart(of: [1]) { [id] server, _ in
                let client = try server.greetedClient(run: Self.first)
                client.send(
                    Frames.begin("d/x", size: 1, id: id, digest: .sha256) + Frames.data([1]) + Frames.end([1], .sha256))
                let result = try client.result()
                #expect(result.code == .alreadyStored)
                #expect(result.digest == Frames.digest([1], .sha256))
            }
        }

        /// An upload that was acknowledged without being durable is made durable before its next acknowledgement.
        @Test func whatWasNotDurableBecomesSo() async throws {
            try await serving({ $0.durability = .none }, in: directory) { [id] server in
                let client = try server.greetedClient()
                client.send(Frames.upload("d/x", [1], id: id))
                #expect(try !client.result().isDurable)
            }
            try await serving(in: directory) { [id] server in
                let client = try server.greetedClient()
                client.send(Frames.begin("d/x", size: 1, id: id, expectsAccept: true))
                try client.expectAccept()
                client.send(Frames.data([1]) + Frames.end([1]))
                let result = try client.result()
                #expect(result.code == .alreadyStored)
                #expect(result.isDurable)
            }
        }

        @Test func anUploadInPartsIsKnownToo() async throws {
            let content = SplitMix64.bytes(seed: 3, Limits.blockSize + 1)
            let upload = PartedUpload("long", content)
            let acknowledged = Locked<UploadResult?>(nil)
            try await serving(in: directory) { server in
                let client = try server.greetedClient(run: Self.first)
                client.send(upload.part(0..<content.count) + upload.multipart)
                #expect(try client.result().code == .staged)
                let result = try client.result()
                #expect(result.code == .committed)
                acknowledged.withLock { $0 = result }
            }
            try await serving(in: directory) { server in
                let client = try server.greetedClient(run: Self.first)
                client.send(upload.multipart)
                #expect(try client.result() == acknowledged.withLock { $0 })
            }
        }

        // MARK: Without a catalog

        @Test func aDamagedCatalogIsMovedAsideAndFilledAgain() async throws {
            try await afterRestart(of: [1, 2]) { _, _ in }
            try TestServer.write([UInt8](repeating: 1, count: 5000), to: path(".transfer/catalog.sqlite"))
            let lines = try await logged(in: directory) { [id] server in
                let client = try server.greetedClient(run: Self.first)
                client.send(Frames.upload("d/x", [1, 2], id: id))
                #expect(try client.result().code == .alreadyStored)
                #expect(server.tree == ["d", "d/x"])
            }
            #expect(lines.contains { $0.contains(" error The catalog is damaged: ") && $0.contains(".damaged-") })
            #expect(!lines.contains { $0.contains("the catalog has") })
            let again = try await logged(in: directory) { [id] server in
                let client = try server.greetedClient(run: Self.first)
                client.send(Frames.begin("d/x", size: 2, id: id, expectsAccept: true))
                #expect(try client.result().code == .alreadyStored)
            }
            #expect(again.contains { $0.hasSuffix(" info the catalog has 1 uploads") })
        }

        /// The catalog can never be opened here. Uploads are stored and acknowledged all the same, and one line of the
        /// log says so.
        @Test func withoutACatalogEverythingIsStored() async throws {
            mkdir(path(""), 0o700)
            mkdir(path(".transfer"), 0o700)
            mkdir(path(".transfer/catalog.sqlite"), 0o700)
            let lines = try await logged(in: directory) { [id] server in
                let client = try server.greetedClient()
                for number in 0..<3 as Range<UInt8> {
                    client.send(Frames.upload("file-\(number)", [number]))
                    #expect(try client.result().code == .committed)
                }
                client.send(Frames.upload("x", [1], id: id))
                #expect(try client.result().code == .committed)
                client.send(Frames.upload("x", [1], id: id))
                #expect(try client.result().code == .committed)
                #expect(server.tree == ["file-0", "file-1", "file-2", "x"])
            }
            #expect(lines.count { $0.contains(" error ") } == 2)
            #expect(lines.contains { $0.contains(" error The catalog cannot be used: ") })
        }

        /// A batch is one transaction, and failed uploads are not in the catalog.
        @Test func theCatalogKnowsWhatWasStored() async throws {
            let uploads = (0..<20).map { (id: UploadID.random(), content: [UInt8(truncatingIfNeeded: $0)]) }
            try await serving(in: directory) { server in
                let client = try server.greetedClient(run: Self.first)
                client.send(uploads.flatMap { Frames.upload("f-\($0.content[0])", $0.content, id: $0.id) })
                client.send(Frames.begin("bad", size: 2) + Frames.data([1]) + Frames.end([1]))
                client.send(Frames.upload("f-0", [9], conflict: .skip))
                for _ in 0..<22 { _ = try client.result() }
            }
            let catalog = Catalog(path: path(".transfer/catalog.sqlite"), isDurable: true) { _ in }
            var entries: [UploadID: CatalogEntry] = [:]
            try catalog.forEachEntry { entries[$0.id] = $0 }
            #expect(entries.count == 20)
            let now = utcNanoseconds()
            for upload in uploads {
                let entry = try #require(entries[upload.id])
                #expect(entry.path == "f-\(upload.content[0])")
                #expect(entry.state == .committed)
                #expect(entry.isDurable)
                #expect(entry.run == Self.first)
                #expect(entry.digest == Frames.digest(upload.content))
                #expect(entry.sender.hasPrefix("127.0.0.1:"))
                let committed = entry.committed
                #expect(entry.begun <= committed && committed <= now && now - entry.begun < 600_000_000_000)
                var status = stat()
                #expect(stat(path(entry.path), &status) == 0)
                #expect(entry.version == ContentVersion(FileIdentity(status)))
            }
        }
    }
}

extension TestServer {
    /// Repeats a change of a stored file until its identity differs: a slow clock can give two changes the same time.
    func change(_ path: String, _ body: (Int32) -> some Any) throws {
        let number = open(directory.path("store/" + path), O_WRONLY)
        defer { close(number) }
        let before = try FileIdentity(of: number)
        repeat {
            lseek(number, 0, SEEK_SET)
            _ = body(number)
        } while try FileIdentity(of: number).changed == before.changed
    }

    static func write(_ content: [UInt8], to path: String) throws {
        let number = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0o600)
        defer { close(number) }
        let count = content.withUnsafeBytes { Glibc.write(number, $0.baseAddress, $0.count) }
        guard count == content.count else { throw RawClient.Failure(description: "cannot write \(path)") }
    }
}
