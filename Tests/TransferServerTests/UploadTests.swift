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
        client.send(Frames.hello + Frames.upload("a/b/c.txt", Array("hello".utf8)))
        let result = try client.result()
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
        for byte in frames { client.send([byte]) }
        #expect(try client.result().code == .committed)
        #expect(server.content("x") == content + content)
        await server.server.shutDown()
    }

    @Test(arguments: [0, 1, 65_534, 65_535, Limits.blockSize - 1, Limits.blockSize, Limits.blockSize + 1, 9_500_000])
    func sizesAroundTheBoundaries(size: Int) async throws {
        let server = try await TestServer()
        let client = try server.greetedClient()
        var random = SplitMix64(seed: UInt64(size))
        let content = random.bytes(size)
        for (name, declared) in [("known", UInt64(size) as UInt64?), ("unknown", nil)] {
            var frames = Frames.begin(name, size: declared)
            for start in stride(from: 0, to: size, by: 1 << 20) {
                frames += Frames.data(Array(content[start..<min(size, start + 1 << 20)]))
            }
            client.send(frames + Frames.end(content))
            let result = try client.result()
            #expect(result.code == .committed)
            #expect(result.digest == Frames.digest(content))
            #expect(server.content(name) == content)
        }
        await server.server.shutDown()
    }

    @Test func blocksAreCheckedAsTheyEnd() async throws {
        let server = try await TestServer()
        let client = try server.greetedClient()
        let block = [UInt8](repeating: 5, count: Limits.blockSize)
        var frames: [UInt8] = []
        for part in 0..<4 { frames += Frames.data(Array(block[(part << 20)..<((part + 1) << 20)])) }
        let good = Frames.encoded(.block(BlockDigest(index: 0, digest: Frames.digest(block))))
        let bad = Frames.encoded(.block(BlockDigest(index: 0, digest: Frames.digest([1]))))
        client.send(Frames.begin("bad", size: UInt64(block.count + 1)) + frames + bad)
        #expect(try client.result().code == .digestMismatch)
        client.send(Frames.data([1]) + Frames.end(block + [1]))
        client.send(
            Frames.begin("good", size: UInt64(block.count + 1)) + frames + good + Frames.data([1])
                + Frames.end(block + [1]))
        #expect(try client.result().code == .committed)
        #expect(server.tree == ["good"])
        await server.server.shutDown()
    }

    @Test func aWindowOfSmallUploadsInOneGo() async throws {
        let server = try await TestServer()
        let client = try server.greetedClient()
        let writer = Task.detached {
            for number in 0..<3000 { client.send(Frames.upload("d\(number % 7)/f\(number)", [UInt8(number & 0xFF)])) }
        }
        for _ in 0..<3000 { #expect(try client.result().code == .committed) }
        await writer.value
        #expect(server.tree.count == 3007)
        await server.server.shutDown()
    }

    @Test func aReplayGetsTheSameAcknowledgement() async throws {
        let server = try await TestServer()
        let id = UploadID.random()
        let first = try server.greetedClient()
        first.send(Frames.upload("photo.png", [1]) + Frames.upload("photo.png", [2], id: id))
        _ = try first.result()
        let acknowledged = try first.result()
        #expect(acknowledged.storedPath == "photo-1.png")
        let second = try server.greetedClient()
        second.send(Frames.upload("photo.png", [2], id: id))
        #expect(try second.result() == acknowledged)
        second.send(Frames.upload("photo.png", [3], id: id))
        #expect(try second.result().code == .contentMismatch)
        #expect(server.tree == ["photo-1.png", "photo.png"])
        unlink(server.directory.path("store/photo-1.png"))
        second.send(Frames.upload("photo.png", [2], id: id))
        #expect(try second.result().code == .committed)
        #expect(server.content("photo-1.png") == [2])
        await server.server.shutDown()
    }

    @Test func conflictsAreSettledBeforeTheContentTravels() async throws {
        let server = try await TestServer { $0.maximumUpload = 1000 }
        let client = try server.greetedClient()
        client.send(Frames.upload("x", [1]))
        _ = try client.result()
        client.send(Frames.begin("x", size: 500, conflict: .skip, expectsAccept: true))
        #expect(try client.result().code == .skipped)
        client.send(Frames.encoded(.abort) + Frames.begin("x", size: 500, conflict: .fail, expectsAccept: true))
        #expect(try client.result().code == .pathConflict)
        client.send(Frames.encoded(.abort) + Frames.begin("y", size: 1001, expectsAccept: true))
        #expect(try client.result().code == .uploadTooLarge)
        client.send(Frames.encoded(.abort) + Frames.begin("y", size: 1000, expectsAccept: true))
        guard case .message(.accept) = try client.next() else { throw RawClient.Failure(description: "no accept") }
        let content = [UInt8](repeating: 1, count: 1000)
        client.send(Frames.data(content) + Frames.end(content))
        #expect(try client.result().code == .committed)
        client.send(Frames.begin("z", size: nil) + Frames.data(content + [1]) + Frames.end(content + [1]))
        #expect(try client.result().code == .uploadTooLarge)
        await server.server.shutDown()
    }

    @Test func pingsAreAnsweredAndGoodbyeCloses() async throws {
        let server = try await TestServer()
        let client = try server.greetedClient()
        client.send(.ping(42))
        #expect(try client.next() == .message(.pong(42)))
        client.send(.goodbye(Goodbye(.committed)))
        #expect(try client.next() == .closed)
        await server.server.shutDown()
    }

    @Test func manyIdleConnectionsAndAnUploadBesideThem() async throws {
        let server = try await TestServer()
        let idle = try (0..<200).map { _ in try server.greetedClient() }
        try server.checkServes()
        for client in idle {
            client.send(.ping(1))
            #expect(try client.next() == .message(.pong(1)))
        }
        await server.server.shutDown()
    }

    @Test func aConnectionTooManyWaitsForItsTurn() async throws {
        let server = try await TestServer { $0.maximumConnections = 1 }
        var first: RawClient? = try server.greetedClient()
        let second = try server.client()
        second.send(Frames.hello + Frames.upload("waited", [1]))
        first?.send(Frames.upload("first", [1]))
        #expect(try first?.result().code == .committed)
        #expect(server.tree == ["first"])
        first = nil
        #expect(try second.result().code == .committed)
        await server.server.shutDown()
    }
}
