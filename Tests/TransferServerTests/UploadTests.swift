import Glibc
import Testing
import TransferIO
import TransferProtocol
import TransferTestSupport

@testable import TransferServer

/// What well-behaved clients get.
@Suite struct UploadTests {
    @Test func everythingInOneWrite() async throws {
        let server = try await TestServer()
        let client = try server.client()
        await client.send(Frames.hello + Frames.upload("a/b/c.txt", Array("hello".utf8)))
        let result = try await client.result()
        #expect(result.code == .committed)
        #expect(result.isDurable)
        #expect(result.storedPath == nil)
        #expect(result.digest == Frames.digest(Array("hello".utf8)))
        #expect(server.content("a/b/c.txt") == Array("hello".utf8))
        await server.server.shutDown()
    }

    @Test func oneByteAtATime() async throws {
        let server = try await TestServer()
        let client = try server.client()
        let content = [UInt8]("drop by drop".utf8)
        let frames =
            Frames.hello + Frames.begin("x", size: 24) + Frames.data(content)
            + Frames.data(Frames.deflated(content), .zlib) + Frames.end(content + content)
        for byte in frames { await client.send([byte]) }
        #expect(try await client.result().code == .committed)
        #expect(server.content("x") == content + content)
        await server.server.shutDown()
    }

    @Test(arguments: [0, 1, 65_534, 65_535, Limits.blockSize - 1, Limits.blockSize, Limits.blockSize + 1, 9_500_000])
    func sizesAroundTheBoundaries(size: Int) async throws {
        let server = try await TestServer()
        let client = try await server.greetedClient()
        var random = SplitMix64(seed: UInt64(size))
        let content = random.bytes(size)
        for (name, declared) in [("known", UInt64(size) as UInt64?), ("unknown", nil)] {
            var frames = Frames.begin(name, size: declared)
            for start in stride(from: 0, to: size, by: 1 << 20) {
                frames += Frames.data(Array(content[start..<min(size, start + 1 << 20)]))
            }
            await client.send(frames + Frames.end(content))
            let result = try await client.result()
            #expect(result.code == .committed)
            #expect(result.digest == Frames.digest(content))
            #expect(server.content(name) == content)
        }
        await server.server.shutDown()
    }

    @Test func blocksAreCheckedAsTheyEnd() async throws {
        let server = try await TestServer()
        let client = try await server.greetedClient()
        let block = [UInt8](repeating: 5, count: Limits.blockSize)
        var frames: [UInt8] = []
        for part in 0..<4 { frames += Frames.data(Array(block[(part << 20)..<((part + 1) << 20)])) }
        let good = Frames.encoded(.block(BlockDigest(index: 0, digest: Frames.digest(block))))
        let bad = Frames.encoded(.block(BlockDigest(index: 0, digest: Frames.digest([1]))))
        await client.send(Frames.begin("bad", size: UInt64(block.count + 1)) + frames + bad)
        #expect(try await client.result().code == .digestMismatch)
        await client.send(Frames.data([1]) + Frames.end(block + [1]))
        await client.send(
            Frames.begin("good", size: UInt64(block.count + 1)) + frames + good + Frames.data([1])
                + Frames.end(block + [1]))
        #expect(try await client.result().code == .committed)
        #expect(server.tree == ["good"])
        await server.server.shutDown()
    }

    @Test func aWindowOfSmallUploadsInOneGo() async throws {
        let server = try await TestServer()
        let client = try await server.greetedClient()
        let writer = Task.detached {
            for number in 0..<3000 {
                await client.send(Frames.upload("d\(number % 7)/f\(number)", [UInt8(number & 0xFF)]))
            }
        }
        for _ in 0..<3000 { #expect(try await client.result().code == .committed) }
        await writer.value
        #expect(server.tree.count == 3007)
        await server.server.shutDown()
    }

    @Test func aReplayGetsTheSameAcknowledgement() async throws {
        let server = try await TestServer()
        let id = UploadID.random()
        let first = try await server.greetedClient()
        await first.send(Frames.upload("photo.png", [1]) + Frames.upload("photo.png", [2], id: id))
        _ = try await first.result()
        let acknowledged = try await first.result()
        #expect(acknowledged.storedPath == "photo-1.png")
        let second = try await server.greetedClient()
        await second.send(Frames.upload("photo.png", [2], id: id))
        #expect(try await second.result() == acknowledged)
        await second.send(Frames.upload("photo.png", [3], id: id))
        #expect(try await second.result().code == .contentMismatch)
        #expect(server.tree == ["photo-1.png", "photo.png"])
        unlink(server.directory.path("store/photo-1.png"))
        await second.send(Frames.upload("photo.png", [2], id: id))
        #expect(try await second.result().code == .committed)
        #expect(server.content("photo-1.png") == [2])
        await server.server.shutDown()
    }

    @Test func conflictsAreSettledBeforeTheContentTravels() async throws {
        let server = try await TestServer { $0.maximumUpload = 1000 }
        let client = try await server.greetedClient()
        await client.send(Frames.upload("x", [1]))
        _ = try await client.result()
        await client.send(Frames.begin("x", size: 500, conflict: .skip, expectsAccept: true))
        #expect(try await client.result().code == .skipped)
        await client.send(Frames.encoded(.abort) + Frames.begin("x", size: 500, conflict: .fail, expectsAccept: true))
        #expect(try await client.result().code == .pathConflict)
        await client.send(Frames.encoded(.abort) + Frames.begin("y", size: 1001, expectsAccept: true))
        #expect(try await client.result().code == .uploadTooLarge)
        await client.send(Frames.encoded(.abort) + Frames.begin("y", size: 1000, expectsAccept: true))
        guard case .message(.accept) = try await client.next() else {
            throw RawClient.Failure(description: "no accept")
        }
        let content = [UInt8](repeating: 1, count: 1000)
        await client.send(Frames.data(content) + Frames.end(content))
        #expect(try await client.result().code == .committed)
        await client.send(Frames.begin("z", size: nil) + Frames.data(content + [1]) + Frames.end(content + [1]))
        #expect(try await client.result().code == .uploadTooLarge)
        await server.server.shutDown()
    }

    @Test func pingsAreAnsweredAndGoodbyeCloses() async throws {
        let server = try await TestServer()
        let client = try await server.greetedClient()
        await client.send(.ping(42))
        #expect(try await client.next() == .message(.pong(42)))
        await client.send(.goodbye(Goodbye(.committed)))
        #expect(try await client.next() == .closed)
        await server.server.shutDown()
    }

    @Test func manyIdleConnectionsAndAnUploadBesideThem() async throws {
        let server = try await TestServer()
        var idle: [RawClient] = []
        for _ in 0..<200 { idle.append(try await server.greetedClient()) }
        try await server.checkServes()
        for client in idle {
            await client.send(.ping(1))
            #expect(try await client.next() == .message(.pong(1)))
        }
        await server.server.shutDown()
    }

    @Test func aConnectionTooManyWaitsForItsTurn() async throws {
        let server = try await TestServer { $0.maximumConnections = 1 }
        var first: RawClient? = try await server.greetedClient()
        let second = try server.client()
        await second.send(Frames.hello + Frames.upload("waited", [1]))
        await first?.send(Frames.upload("first", [1]))
        #expect(try await first?.result().code == .committed)
        #expect(server.tree == ["first"])
        first = nil
        #expect(try await second.result().code == .committed)
        await server.server.shutDown()
    }
}
