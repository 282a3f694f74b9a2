import CLinux
import Glibc
import Testing
import TransferModel
import TransferProtocol
import TransferServer
import TransferPorts
import TransferStore
import TransferTestSupport

extension ServerTests {
    /// Uploads that well-behaved clients send.
    @Suite(.overEachStoreIfAsked) struct UploadTests {
        @Test func everythingInOneWrite() async throws {
            try await serving { server in
                let client = try server.client()
                client.send(Frames.hello + Frames.upload("a/b/c.txt", Array("hello".utf8)))
                let result = try client.result()
                #expect(result.code == .committed)
                #expect(result.isDurable)
                #expect(result.storedPath == nil)
                #expect(result.digest == Frames.digest(Array("hello".utf8)))
                #expect(server.content("a/b/c.txt") == Array("hello".utf8))
            }
        }

        /// Results say whether uploads are durable, also for content that was already stored and for repeated uploads.
        @Test(.directoryOnly, arguments: [Durability.commit, .none]) func whatResultsPromise(durability: Durability)
            async throws
        {
            let isDurable = durability == .commit
            try await serving({ $0.durability = durability }) { server in
                let client = try server.greetedClient()
                let upload = Frames.upload("a", [1, 2, 3])
                let another = Frames.upload("a", [1, 2, 3])
                for (frames, code) in [(upload, ResultCode.committed), (upload, .committed), (another, .alreadyStored)]
                {
                    client.send(frames)
                    let result = try client.result()
                    #expect(result.code == code && result.isDurable == isDurable)
                }
                client.send(Frames.upload("../a", [1]))
                #expect(try !client.result().isDurable)
            }
        }

        @Test func oneByteAtATime() async throws {
            try await serving { server in
                let client = try server.client()
                let content = [UInt8]("drop by drop".utf8)
                let frames =
                    Frames.hello + Frames.begin("x", size: 36) + Frames.data(content)
                    + Frames.data(Frames.deflated(content), .zlib) + Frames.data(Frames.zstd(content), .zstd)
                    + Frames.end(content + content + content)
                for byte in frames { client.send([byte]) }
                #expect(try client.result().code == .committed)
                #expect(server.content("x") == content + content + content)
            }
        }

        @Test func pingsAreAnsweredAndGoodbyeCloses() async throws {
            try await serving { server in
                let client = try server.greetedClient()
                client.send(.ping(42))
                #expect(try client.next() == .message(.pong(42)))
                client.send(.goodbye(Goodbye(.committed)))
                #expect(try client.next() == .closed)
            }
        }

        @Test(arguments: [
            0, 1, 65_534, 65_535, Limits.blockSize - 1, Limits.blockSize, Limits.blockSize + 1, 9_500_000,
        ])
        func sizesAroundTheBoundaries(size: Int) async throws {
            try await serving { server in
                let client = try server.greetedClient()
                var random = SplitMix64(seed: UInt64(size))
                let content = random.bytes(size)
                for (name, declared) in [("known", UInt64(size) as UInt64?), ("unknown", nil)] {
                    client.send(Frames.begin(name, size: declared) + Frames.stored(content) + Frames.end(content))
                    let result = try client.result()
                    #expect(result.code == .committed)
                    #expect(result.digest == Frames.digest(content))
                    #expect(server.content(name) == content)
                }
                #expect(server.parts.isEmpty)
            }
        }

        @Test(arguments: DigestFunction.allCases) func storedAndCompressedFramesMixed(_ function: DigestFunction)
            async throws
        {
            try await serving { server in
                let client = try server.greetedClient()
                var random = SplitMix64(seed: 77)
                var (content, frames): ([UInt8], [UInt8]) = ([], [])
                for round in 0..<12 {
                    let part = random.bytes(Int.random(in: 0...(round % 3 == 2 ? 250_000 : 900_000), using: &random))
                    content += part
                    switch round % 3 {
                    case 0: frames += Frames.data(part)
                    case 1: frames += Frames.data(Frames.deflated(part), .zlib)
                    default: frames += Frames.data(Frames.zstd(part), .zstd)
                    }
                }
                let size = UInt64(content.count)
                client.send(
                    Frames.begin("mixed", size: size, digest: function) + frames + Frames.end(content, function))
                let result = try client.result()
                #expect(result.code == .committed)
                #expect(result.digest == Frames.digest(content, function))
                #expect(server.content("mixed") == content)
            }
        }

        @Test(arguments: [0, 1]) func blocksAreCheckedAsTheyEnd(excess: Int) async throws {
            try await serving { server in
                let client = try server.greetedClient()
                let block = [UInt8](repeating: 5, count: Limits.blockSize)
                let content = block + [UInt8](repeating: 6, count: excess)
                let size = UInt64(content.count)
                let rest = Frames.stored(Array(content[block.count...])) + Frames.end(content)
                client.send(Frames.begin("bad", size: size) + Frames.stored(block) + Frames.block(0, [1]))
                #expect(try client.result().code == .digestMismatch)
                client.send(
                    rest + Frames.begin("index", size: size) + Frames.stored(block) + Frames.block(1, block) + rest)
                #expect(try client.result().code == .digestMismatch)
                client.send(Frames.begin("good", size: size) + Frames.stored(block) + Frames.block(0, block) + rest)
                #expect(try client.result().code == .committed)
                #expect(server.tree == ["good"])
                #expect(server.content("good") == content)
            }
        }

        @Test func aWindowOfSmallUploadsInOneGo() async throws {
            try await serving { server in
                let client = try server.greetedClient()
                let all = (0..<3000).flatMap { Frames.upload("d\($0 % 7)/f\($0)", [UInt8($0 & 0xFF)]) }
                let writer = TestThread { client.send(all) }
                defer { writer.join() }
                var seen: Set<UploadID> = []
                for _ in 0..<3000 {
                    let result = try client.result()
                    #expect(result.code == .committed)
                    seen.insert(result.id)
                }
                #expect(seen.count == 3000)
                #expect(server.tree.count == 3007)
                #expect(server.content("d5/f2000") == [UInt8(2000 & 0xFF)])
            }
        }

        @Test func closingBetweenUploadsIsAGoodbye() async throws {
            try await serving { server in
                let client = try server.client()
                client.send(Frames.hello + Frames.upload("a", [1]) + Frames.upload("b", [2]))
                client.endSending()
                #expect(try client.result().code == .committed)
                #expect(try client.result().code == .committed)
                #expect(try client.next() == .closed)
            }
        }

        @Test func goodbyeInsideAnUploadThrowsItAway() async throws {
            try await serving { server in
                let client = try server.client()
                client.send(Frames.hello + Frames.upload("a", [1]) + Frames.begin("b", size: 9) + Frames.data([2]))
                client.send(.goodbye(Goodbye(.committed)))
                #expect(try client.result().code == .committed)
                #expect(try client.next() == .closed)
                #expect(server.tree == ["a"])
                #expect(server.parts.isEmpty)
            }
        }

        @Test(.directoryOnly) func attributesAreKept() async throws {
            try await serving { server in
                let client = try server.greetedClient()
                let modified = Timestamp(seconds: 1_000_000_000, nanoseconds: 500_000_000)
                let begin = Begin(
                    id: .random(), path: "script", size: 1, modified: modified, permissions: 0o7755)
                client.send(Frames.encoded(.begin(begin)) + Frames.data([1]) + Frames.end([1]))
                #expect(try client.result().code == .committed)
                var status = stat()
                #expect(stat(server.directory.path("store/script"), &status) == 0)
                #expect(status.st_mode & 0o7700 == 0o700)
                #expect(status.st_mtim.tv_sec == 1_000_000_000)
            }
        }
    }
}
