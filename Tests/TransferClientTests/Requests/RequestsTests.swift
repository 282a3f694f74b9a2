import Glibc
import Testing
import TransferCodec
import TransferModel
import TransferProtocol
import TransferTestSupport

@testable import TransferClient

@Suite struct RequestsTests {
    private func client(_ server: RunningServer, _ folder: String = "") throws -> TransferClient {
        try TransferClient(server: server.address(folder), configuration: .plain())
    }

    private func write(_ server: RunningServer, _ path: String, _ content: [UInt8]) throws {
        try Files.write(server.directory.path("store/\(path)"), content)
    }

    @Test func aFolderIsListed() async throws {
        try await withServer { server in
            for path in ["a", "d/b", "d/e/c"] { try write(server, path, [1]) }
            let (entries, failure) = try await all(client(server).list("", isRecursive: true))
            #expect(failure == nil)
            #expect(entries.map(\.path).sorted() == ["a", "d", "d/b", "d/e", "d/e/c"])
            #expect(entries.filter(\.isDirectory).map(\.path).sorted() == ["d", "d/e"])
            #expect(try await all(client(server, "d").list("/e/")).events.map(\.path) == ["e/c"])
            #expect(try await all(client(server).list("x")).failure?.reason == .rejected(.notFound))
            #expect(try await all(client(server).list("a")).failure?.reason == .rejected(.wrongForm))
        }
    }

    @Test func manyEntriesComeAsTheyAreTaken() async throws {
        try await withServer { server in
            for number in 0..<12_000 { try write(server, "m/f\(number)", []) }
            let (entries, failure) = try await all(client(server).list("m"))
            #expect(failure == nil && Set(entries.map(\.path)).count == 12_000)
        }
    }

    @Test func whatIsKnownOfFilesIsTold() async throws {
        try await withServer { server in
            let client = try client(server)
            _ = try await client.push(.bytes([1, 2, 3], name: "a", kind: .picture))
            let (reports, failure) = await all(client.stat(["a", "x", "", "a"]))
            #expect(failure == nil && reports.map(\.path) == ["a", "x", "", "a"])
            #expect(reports.map(\.result) == [.completed, .notFound, .completed, .completed])
            let entry = try #require(reports[0].entry)
            #expect(entry.size == 3 && entry.kind == .picture && entry.digest != nil && entry.stored != nil)
            #expect(reports[2].entry?.isDirectory == true)
        }
    }

    @Test func filesAreRemoved() async throws {
        try await withServer(hasTrash: false) { server in
            for path in ["a", "d/b", "d/c"] { try write(server, path, [1]) }
            let client = try client(server)
            let some = await all(client.remove(["a", "d", "x"]))
            #expect(some.events.map(\.result) == [.completed, .wrongForm, .notFound])
            let rest = await all(client.remove(["d/"], isRecursive: true))
            #expect(rest.events.map(\.files) == [2] && rest.events.allSatisfy(\.isDurable))
            #expect(server.tree == [])
        }
    }

    /// The client cannot know whether the request or its answer was lost.
    @Test func aRemovalThatWasLostIsHarmlessWhenRepeated() async throws {
        let answerless = { @Sendable (peer: FakeServer.Peer) in
            peer.welcome(Welcome(features: .files))
            _ = peer.next()
        }
        let server = FakeServer(answerless) { peer in
            peer.welcome(Welcome(features: .files))
            guard case .message(.remove(let remove))? = peer.next() else { return }
            peer.send(.outcome(Ending(id: remove.id, code: .notFound)))
            peer.drain()
        }
        let client = try TransferClient(server: server.address, configuration: .plain())
        #expect(await all(client.remove(["a"])).events.map(\.result) == [.completed])
        server.stop()
    }

    @Test(arguments: [0, 1, Limits.blockSize, 2 * Limits.blockSize + 5]) func aFileIsRead(size: Int) async throws {
        let content = SplitMix64.bytes(seed: 2, size)
        try await withServer { server in
            try write(server, "a", content)
            let (pieces, failure) = try await all(client(server).read("a"))
            #expect(failure == nil && Array(pieces.joined()) == content)
        }
    }

    @Test func readingGoesOnAfterALostConnection() async throws {
        let content = SplitMix64.bytes(seed: 3, 5 * Limits.blockSize + 5)
        try await withServer { server in
            try write(server, "a", content)
            let proxy = CuttingProxy(to: server.port, cuts: [.init(down: 6 << 20), .init(down: 7 << 20)])
            let client = try TransferClient(server: proxy.address, configuration: .plain())
            let (pieces, failure) = await all(client.read("a"))
            proxy.stop()
            #expect(failure == nil && Array(pieces.joined()) == content)
            #expect(proxy.connections == 3)
        }
    }

    @Test func whatCannotBeReadIsSaid() async throws {
        try await withServer { server in
            try write(server, "d/a", [1])
            for (path, code) in [("x", .notFound), ("d", .wrongForm), ("../x", .invalidPath)] as [(String, ResultCode)]
            {
                #expect(try await all(client(server).read(path)).failure?.reason == .rejected(code), "\(path)")
            }
        }
    }

    /// The client checks a block before it passes any byte of the block to the caller.
    @Test func nothingDamagedIsPassedOn() async throws {
        let size = UInt64(Limits.blockSize + 1)
        let server = FakeServer { peer in
            peer.welcome(Welcome(features: .files))
            guard case .message(.fetch(let fetch))? = peer.next() else { return }
            peer.send(
                .file(
                    FetchedFile(
                        id: fetch.id, permissions: 0o644, size: size, modified: .init(seconds: 0, nanoseconds: 0),
                        version: FileVersion(high: 1, low: 1))))
            for _ in 0..<4 {
                var frame: [UInt8] = []
                FrameHeader(.data, bodyLength: 1 << 20).encode(into: &frame)
                peer.wire.send(frame + [UInt8](repeating: 1, count: 1 << 20))
            }
            peer.send(.block(BlockDigest(index: 0, digest: Digest(.xxh128, [UInt8](repeating: 0, count: 16)))))
            while let arrival = peer.next() {
                guard case .message(.cancel(let id)) = arrival else { continue }
                peer.send(.outcome(Ending(id: id, code: .aborted)))
            }
        }
        let client = try TransferClient(server: server.address, configuration: .plain())
        let (pieces, failure) = await all(client.read("a"))
        server.stop()
        #expect(pieces.isEmpty && failure?.reason == .rejected(.digestMismatch))
    }
}
