import CLinux
import Glibc
import Testing
import TransferCatalog
import TransferCodec
import TransferModel
import TransferProtocol
import TransferPorts
import TransferStore
import TransferTestSupport

@testable import TransferIntake
@testable import TransferServer

extension ServerTests {
    /// Requests for stored files: listing, fetching and removing.
    @Suite(.overEachStoreIfAsked) struct RequestsTests {
        private static let long = SplitMix64.bytes(seed: 3, 2 * Limits.blockSize + 12_345)

        private func digest(_ content: [UInt8], _ function: DigestFunction = .xxh128) -> Digest {
            Frames.digest(content, function)
        }

        /// Connects a client that has stored some files.
        private func client(_ server: TestServer, _ files: [(String, [UInt8])]) throws -> RawClient {
            let client = try server.greetedClient()
            for (path, content) in files {
                let frames =
                    Frames.begin(path, size: UInt64(content.count)) + Frames.stored(content) + Frames.end(content)
                guard try client.codes(to: frames) == [.committed] else {
                    throw RawClient.Failure(description: "\(path) was not stored")
                }
            }
            return client
        }

        @Test func theServerSaysThatItAnswersRequests() async throws {
            for isRoot in [false, true] {
                try await serving({ $0.offersOwners = isRoot }) { server in
                    let client = try server.client()
                    client.send(Frames.hello)
                    guard case .welcome(let welcome) = try client.nextMessage() else {
                        throw RawClient.Failure(description: "no welcome")
                    }
                    var usual: Features = [.files, .folders, .trees, .zstd, .holes, .versions]
                    if server.server.core.store.abilities.takesPieces { usual.insert(.pieces) }
                    #expect(welcome.features == (isRoot ? usual.union(.owners) : usual))
                }
            }
        }

        // MARK: Listing

        @Test func aFolderIsListed() async throws {
            try await serving { server in
                let client = try client(server, [("a", [1]), ("d/b", [1, 2]), ("d/e/c", []), ("é\n😀", [3])])
                let (entries, outcome) = try client.list()
                #expect(outcome.code == .completed && outcome.count == 3)
                #expect(Set(entries.map(\.name)) == ["a", "d", "é\n😀"])
                let names = try client.list("d").entries.map(\.name)
                #expect(Set(names) == ["b", "e"])
                let file = try #require(entries.first { $0.name == "a" })
                #expect(file.form == .file && file.size == 1 && file.digest == nil && file.version != .none)
                let folder = try #require(entries.first { $0.name == "d" })
                #expect(folder.form == .directory && folder.size == 0 && folder.version == .none)
                #expect(try client.list("d/e/c").outcome.code == .wrongForm)
                #expect(try client.list("x").outcome.code == .notFound)
                #expect(try client.list("a/x").outcome.code == .notFound)
            }
        }

        @Test func detailsAreThoseOfTheCatalogAsLongAsTheFileIsTheSame() async throws {
            try await serving { server in
                let client = try client(server, [("a", [1, 2, 3]), ("b", [4])])
                #expect(server.put([9], "b"))
                let entries = try client.list(details: true).entries
                let a = try #require(entries.first { $0.name == "a" })
                #expect(a.digest == digest([1, 2, 3]) && a.stored != nil)
                let b = try #require(entries.first { $0.name == "b" })
                #expect(b.digest == nil && b.stored == nil)
                let itself = try client.list("a", itself: true, details: true)
                #expect(itself.entries == [a] && itself.outcome.count == 1)
            }
        }

        /// Links, devices, files with invalid names and the server's own folder are not listed.
        @Test(.directoryOnly) func whatIsNoFileIsNotThere() async throws {
            try await serving { server in
                let client = try client(server, [("d/a", [1])])
                let store = server.directory.path("store")
                #expect(symlink("/etc/passwd", store + "/link") == 0)
                #expect(symlink(store + "/d", store + "/out") == 0)
                #expect(mkfifo(store + "/pipe", 0o644) == 0)
                #expect(withBytes([UInt8](store.utf8) + [0x2F, 0xFF, 0]) { open($0, O_CREAT | O_WRONLY, 0o644) } >= 0)
                #expect(try client.list().entries.map(\.name) == ["d"])
                for path in ["link", "pipe", "nothing"] {
                    #expect(try client.list(path, itself: true).outcome.code == .notFound, "\(path)")
                    #expect(try client.fetch(FetchRequest(id: 1, path: path)).outcome?.code == .notFound, "\(path)")
                }
                for path in [".transfer", ".Transfer/lock", "../store", "d/../.transfer/lock", "/etc/passwd", "a//b"] {
                    #expect(try client.list(path, itself: true).outcome.code == .invalidPath, "\(path)")
                    #expect(try client.fetch(FetchRequest(id: 1, path: path)).outcome?.code == .invalidPath, "\(path)")
                    #expect(try client.remove(path, recursive: true).code == .invalidPath, "\(path)")
                }
                #expect(try client.fetch(FetchRequest(id: 1, path: "out/a")).outcome?.code == .invalidPath)
                #expect(try client.list("out").outcome.code == .invalidPath)
            }
        }

        /// The outcome tells the client that the list is incomplete.
        @Test(.directoryOnly) func namesThatNoPathCanHaveAreCounted() async throws {
            try await serving { server in
                let client = try client(server, [("d/a", [1])])
                let store = Array(server.directory.path("store").utf8) + [0x2F]
                #expect(try client.list().outcome.unlisted == 0)
                let own = Array("d/.transfer".utf8)
                for name in [[0xFF], [0x64, 0x2F, 0xFF], own] as [[UInt8]] {
                    #expect(withBytes(store + name + [0]) { open($0, O_CREAT | O_WRONLY, 0o644) } >= 0)
                }
                #expect(withBytes(store + [0xFE, 0]) { mkdir($0, 0o755) } == 0)
                #expect(withBytes(store + [0xFD, 0]) { mkfifo($0, 0o644) } == 0)
                #expect(withBytes(store + [0xFC, 0]) { symlink("d", $0) } == 0)
                #expect(try client.list().outcome.unlisted == 2)
                let below = try client.list("d")
                #expect(below.entries.map(\.name) == ["a"] && below.outcome.count == 1 && below.outcome.unlisted == 2)
                // Links count as unlisted unless links are listed.
                client.ask(.list(ListRequest(id: 5, path: "", wantsAll: true)))
                #expect(try client.listed().outcome.unlisted == 3)
                #expect(try client.list("d", itself: true).outcome.unlisted == 0)
            }
        }

        private func withBytes(_ bytes: [UInt8], _ body: (UnsafePointer<CChar>) -> Int32) -> Int32 {
            bytes.map { CChar(bitPattern: $0) }.withUnsafeBufferPointer { $0.baseAddress.map(body) ?? -1 }
        }

        /// A long list is sent in many frames, and the server makes no more of them than the client takes.
        @Test(.directoryOnly) func aLongListIsStreamed() async throws {
            try await serving { server in
                let folder = server.directory.path("store/many")
                #expect(mkdir(folder, 0o755) == 0)
                for number in 0..<20_000 {
                    close(open("\(folder)/file-with-a-name-\(number)", O_CREAT | O_WRONLY, 0o644))
                }
                let client = try server.greetedClient()
                client.ask(.list(ListRequest(id: 1, path: "many")))
                client.ask(.list(ListRequest(id: 2, path: "")))
                let (entries, outcome) = try client.listed()
                #expect(outcome.id == 1 && outcome.count == 20_000)
                #expect(Set(entries.map(\.name)).count == 20_000)
                #expect(try client.listed().outcome.id == 2)
            }
        }

        // MARK: Fetching

        @Test(arguments: DigestFunction.allCases) func contentComesVerified(_ function: DigestFunction) async throws {
            let files: [(String, [UInt8])] = [
                ("empty", []), ("one", [1]), ("block", Array(Self.long.prefix(Limits.blockSize))), ("long", Self.long),
            ]
            try await serving { server in
                let client = try client(server, files)
                for (path, content) in files {
                    let fetched = try client.fetch(FetchRequest(id: 7, path: path, digest: function))
                    #expect(fetched.content == content)
                    #expect(fetched.end == End(size: UInt64(content.count), digest: digest(content, function)))
                    #expect(fetched.file?.size == UInt64(content.count) && fetched.file?.offset == 0)
                    let whole = content.count > Limits.blockSize ? content.count / Limits.blockSize : 0
                    #expect(fetched.blocks.map(\.index) == (0..<UInt64(whole)).map { $0 })
                    for block in fetched.blocks {
                        let start = Int(block.index) * Limits.blockSize
                        #expect(block.digest == digest(Array(content[start..<start + Limits.blockSize]), function))
                    }
                }
                #expect(try client.fetch(FetchRequest(id: 7, path: "")).outcome?.code == .wrongForm)
            }
        }

        @Test func aFolderIsNoFile() async throws {
            try await serving { server in
                let client = try client(server, [("d/a", [1])])
                #expect(try client.fetch(FetchRequest(id: 7, path: "d")).outcome?.code == .wrongForm)
            }
        }

        @Test func manyAreAnsweredInTheirOrder() async throws {
            let files = (0..<300).map { ("f\($0)", SplitMix64.bytes(seed: UInt64($0), $0 * 7)) }
            try await serving { server in
                let client = try client(server, files)
                client.send(
                    files.indices.flatMap { index in
                        Frames.encoded(.fetch(FetchRequest(id: UInt32(index), path: files[index].0)))
                    })
                for (index, file) in files.enumerated() {
                    let fetched = try client.fetched()
                    #expect(fetched.file?.id == UInt32(index) && fetched.content == file.1)
                }
            }
        }

        @Test(.directoryOnly, arguments: [true, false]) func aFileGoesOnAtABlock(isInCatalog: Bool) async throws {
            try await serving { server in
                let client = try client(server, [("long", Self.long)])
                // The catalog does not vouch for a touched file.
                if !isInCatalog { #expect(utimes(server.directory.path("store/long"), nil) == 0) }
                let version = try #require(try client.list("long", itself: true).entries.first?.version)
                for blocks in 0...2 {
                    let offset = UInt64(blocks * Limits.blockSize)
                    let fetched = try client.fetch(
                        FetchRequest(id: 1, path: "long", offset: offset, version: version))
                    #expect(fetched.file?.offset == offset)
                    #expect(fetched.content == Array(Self.long.dropFirst(blocks * Limits.blockSize)))
                    #expect(fetched.end == End(size: UInt64(Self.long.count), digest: digest(Self.long)))
                    #expect(fetched.blocks.map(\.index) == (UInt64(blocks)..<2).map { $0 })
                }
            }
        }

        @Test func anotherVersionComesFromItsBeginning() async throws {
            try await serving { server in
                let client = try client(server, [("long", Self.long)])
                let version = FileVersion(high: 1, low: 2)
                let offset = UInt64(Limits.blockSize)
                let fetched = try client.fetch(FetchRequest(id: 1, path: "long", offset: offset, version: version))
                #expect(fetched.file?.offset == 0 && fetched.content == Self.long)
                let part = try client.fetch(
                    FetchRequest(id: 1, path: "long", offset: offset, version: version, length: offset))
                #expect(part.outcome?.code == .fileChanged && part.content.isEmpty)
            }
        }

        @Test func partsComeByThemselves() async throws {
            try await serving { server in
                let client = try client(server, [("long", Self.long)])
                let version = try #require(try client.list("long", itself: true).entries.first?.version)
                let block = Limits.blockSize
                for (offset, length) in [(0, 1), (1, 1), (1, 2), (2, 1), (0, 9)] {
                    let content = Array(Self.long.dropFirst(offset * block).prefix(length * block))
                    let fetched = try client.fetch(
                        FetchRequest(
                            id: 1, path: "long", offset: UInt64(offset * block), version: version,
                            length: UInt64(length * block)))
                    #expect(fetched.content == content)
                    #expect(fetched.end == End(size: UInt64(content.count), digest: digest(content)))
                }
            }
        }

        /// The content sent before a change of the file must not count as a part of the changed file.
        @Test(.directoryOnly) func aFileThatChangesMeanwhileIsNotMixed() async throws {
            try await serving { server in
                let size = 32 << 20
                let client = try server.greetedClient()
                let path = server.directory.path("store/big")
                #expect(TestServer.write([UInt8](repeating: 1, count: size), path))
                client.ask(.fetch(FetchRequest(id: 1, path: "big")))
                guard case .file = try client.nextMessage() else { throw RawClient.Failure(description: "no file") }
                // The server has not sent all of the file, since the client does not read.
                let file = open(path, O_WRONLY)
                #expect(pwrite(file, [2], 1, off_t(size - 1)) == 1)
                close(file)
                let fetched = try client.fetched()
                #expect(fetched.end == nil && fetched.outcome?.code == .fileChanged)
                #expect(try client.fetch(FetchRequest(id: 2, path: "big")).end != nil)
            }
        }

        @Test(.directoryOnly) func aFileThatIsCutMeanwhileIsNotMixed() async throws {
            try await serving { server in
                let client = try server.greetedClient()
                let path = server.directory.path("store/big")
                // A sparse file that is larger than all socket buffers.
                let size = 256 << 20
                #expect(TestServer.write([1], path) && truncate(path, size) == 0)
                client.ask(.fetch(FetchRequest(id: 1, path: "big")))
                guard case .file = try client.nextMessage() else { throw RawClient.Failure(description: "no file") }
                #expect(truncate(path, 1) == 0)
                #expect(try client.fetched().outcome?.code == .fileChanged)
            }
        }

        /// If a file is replaced, moved, removed or gets other permissions while it is sent, the client still receives
        /// the whole file.
        @Test(.directoryOnly, arguments: FileChange.allCases) func aFileThatIsReplacedMeanwhileIsSentWhole(
            _ change: FileChange
        )
            async throws
        {
            try await serving { server in
                let client = try server.greetedClient()
                let path = server.directory.path("store/big")
                let content = [UInt8](repeating: 1, count: 32 << 20)
                #expect(TestServer.write(content, path))
                client.ask(.fetch(FetchRequest(id: 1, path: "big")))
                guard case .file = try client.nextMessage() else { throw RawClient.Failure(description: "no file") }
                // The server has not sent all of the file, since the client does not read.
                #expect(change.make(path))
                let fetched = try client.fetched()
                #expect(fetched.end == End(size: UInt64(content.count), digest: digest(content)))
            }
        }

        /// The server does not send content that the disk has lost as if it were intact.
        @Test(.directoryOnly) func contentThatIsNoLongerWhatWasStoredIsNotSentAsSuch() async throws {
            try await serving { server in
                let client = try client(server, [("long", Self.long)])
                try server.decay("long", at: 0)
                let fetched = try client.fetch(FetchRequest(id: 1, path: "long"))
                #expect(fetched.end == nil && fetched.outcome?.code == .contentLost)
            }
        }

        @Test(.directoryOnly) func whatIsCancelledEnds() async throws {
            try await serving { server in
                let client = try client(server, [("a", [1])])
                let path = server.directory.path("store/big")
                // A sparse file that is larger than all socket buffers.
                let size = 256 << 20
                #expect(TestServer.write([1], path) && truncate(path, size) == 0)
                client.ask(.fetch(FetchRequest(id: 1, path: "big")))
                client.ask(.fetch(FetchRequest(id: 2, path: "a")))
                client.ask(.fetch(FetchRequest(id: 3, path: "a")))
                guard case .file = try client.nextMessage() else { throw RawClient.Failure(description: "no file") }
                client.send(.cancel(1), .cancel(2), .cancel(99))
                let first = try client.fetched()
                #expect(first.outcome?.code == .aborted && first.content.count < size)
                #expect(try client.fetched().outcome?.code == .aborted)
                #expect(try client.fetched().content == [1])
            }
        }

        /// A client that does not read delays no other client, and uploads continue beside requests.
        @Test func uploadsGoOnBesideRequests() async throws {
            try await serving { server in
                let client = try client(server, [("a", [1])])
                client.ask(.list(ListRequest(id: 1, path: "")))
                #expect(client.isStalled(milliseconds: 0) == false)
                client.send(Frames.upload("b", [2]))
                var isStored = false
                var isListed = false
                while !isStored || !isListed {
                    switch try client.answer() {
                    case .result(let result): isStored = result.code == .committed
                    case .outcome: isListed = true
                    case .entries: break
                    case let message: throw RawClient.Failure(description: "\(message)")
                    }
                }
            }
        }

        // MARK: Removing

        @Test func aRemovedFileIsGone() async throws {
            try await serving { server in
                let client = try client(server, [("d/a", [1, 2]), ("d/b", [3])])
                let gone = try client.remove("d/a")
                #expect(gone.code == .completed && gone.isDurable && gone.count == 1)
                #expect(server.tree == ["d", "d/b"])
                #expect(try client.remove("d/a").code == .notFound)
                #expect(try client.remove("d").code == .wrongForm)
                #expect(try client.remove("").code == .invalidPath)
                let all = try client.remove("d", recursive: true)
                #expect(all.code == .completed && all.count == 1)
                #expect(server.tree == [])
            }
        }

        /// Sending the removed upload again stores it, and the catalog has no entry for the removed file.
        @Test func whatIsRemovedIsNotAcknowledgedAnyMore() async throws {
            try await serving { server in
                let client = try server.greetedClient()
                let begin = Begin(id: .random(), path: "a", size: 3)
                let upload = Frames.encoded(.begin(begin)) + Frames.data([1, 2, 3]) + Frames.end([1, 2, 3])
                #expect(try client.codes(to: upload) == [.committed])
                #expect(try client.remove("a").code == .completed)
                #expect(server.server.core.intake.known.entries(at: ["a"]) == [[]])
                #expect(try client.codes(to: upload) == [.committed])
                #expect(server.content("a") == [1, 2, 3])
            }
        }

        @Test(.directoryOnly) func aTreeIsRemovedWithItsLinks() async throws {
            let files = (0..<700).map { ("t/\($0 % 7)/\($0 % 3)/f\($0)", [UInt8($0 % 251)]) }
            try await serving { server in
                let client = try client(server, files + [("keep", [1])])
                let store = server.directory.path("store")
                #expect(symlink(store + "/keep", store + "/t/link") == 0)
                #expect(symlink("/", store + "/t/1/root") == 0)
                let outcome = try client.remove("t", recursive: true)
                #expect(outcome.code == .completed && outcome.count == 700)
                #expect(server.tree == ["keep"])
                // A directory that was made durable before its removal is made again.
                #expect(try client.codes(to: Frames.upload("t/1/x", [1])) == [.committed])
            }
        }

        @Test func manyRemovalsAreAnswered() async throws {
            let files = (0..<500).map { ("d\($0 % 100)/f\($0)", [UInt8(1)]) }
            try await serving { server in
                let client = try client(server, files)
                for (index, file) in files.enumerated() {
                    client.ask(.remove(RemoveRequest(id: UInt32(index), path: file.0)))
                }
                client.ask(.list(ListRequest(id: 9999, path: "d1")))
                for index in files.indices {
                    let outcome = try client.outcome()
                    #expect(outcome.id == UInt32(index) && outcome.code == .completed)
                }
                #expect(try client.listed().entries.isEmpty)
            }
        }

        @Test func theServersQuotaIsGivenBack() async throws {
            try await serving {
                $0.space.quota = 10
            } _: { server in
                let client = try client(server, [("a", [UInt8](repeating: 1, count: 8))])
                #expect(try client.codes(to: Frames.upload("b", [1, 2, 3])) == [.quotaExceeded])
                #expect(try client.remove("a").code == .completed)
                #expect(try client.codes(to: Frames.upload("b", [1, 2, 3])) == [.committed])
            }
        }

        // MARK: Bounds

        @Test func aRequestTooManyEndsTheConnection() async throws {
            try await serving { server in
                let client = try server.greetedClient()
                // The client does not read, so the server stops answering after a while, but the client may send all
                // requests.
                let path = String(repeating: "p/", count: 2000) + "p"
                client.send(
                    (0..<64).flatMap { Frames.encoded(.list(ListRequest(id: $0, path: path))) })
                var codes: Set<ResultCode> = []
                while case .message(let message) = try client.next() {
                    if case .outcome(let outcome) = message { codes.insert(outcome.code) }
                    if case .result(let result) = message {
                        codes.insert(result.code)
                        client.endSending()
                    }
                }
                #expect(codes.isSubset(of: [.invalidPath, .unexpectedFrame]))
            }
        }

        @Test(.directoryOnly) func aStoppingServerBeginsNothing() async throws {
            try await serving {
                $0.drain = .seconds(60)
            } _: { server in
                let client = try client(server, [("a", [1])])
                let path = server.directory.path("store/big")
                // A sparse file that is larger than all socket buffers.
                let size = 256 << 20
                #expect(TestServer.write([1], path) && truncate(path, size) == 0)
                client.ask(.fetch(FetchRequest(id: 1, path: "big")))
                client.ask(.fetch(FetchRequest(id: 2, path: "a")))
                guard case .file = try client.nextMessage() else { throw RawClient.Failure(description: "no file") }
                server.beginShutDown()
                server.waitUntilClosed()
                #expect(try client.fetched().end != nil)
                #expect(try client.fetched().outcome?.code == .shuttingDown)
                #expect(try client.goodbye().code == .shuttingDown)
            }
        }
    }
}
