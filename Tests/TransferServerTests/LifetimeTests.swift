import Glibc
import Testing
import TransferIO
import TransferProtocol
import TransferTestSupport

@testable import TransferServer

/// Time-outs, and the server's own end.
@Suite struct LifetimeTests {
    @Test func aHandshakeThatDoesNotCome() async throws {
        let server = try await TestServer { $0.timeouts.handshake = .milliseconds(50) }
        let client = try server.client()
        #expect(try await client.result().code == .timedOut)
        try await client.waitForClose()
        await server.server.shutDown()
    }

    @Test func aSilentPeerIsGivenUp() async throws {
        let server = try await TestServer { $0.timeouts.silence = .milliseconds(100) }
        #expect(try await server.greetedClient().result().code == .timedOut)
        await server.server.shutDown()
    }

    @Test func aPeerThatAnswersPingsStays() async throws {
        let server = try await TestServer { $0.timeouts.heartbeat = .milliseconds(20) }
        let lively = try await server.greetedClient()
        for _ in 0..<10 {
            guard case .message(.ping(let token)) = try await lively.next() else {
                throw RawClient.Failure(description: "no ping")
            }
            await lively.send(.pong(token))
        }
        await lively.send(Frames.upload("x", [1]))
        #expect(try await lively.result().code == .committed)
        await server.server.shutDown()
    }

    @Test func anIdleConnectionIsClosed() async throws {
        let server = try await TestServer { $0.timeouts.idle = .milliseconds(50) }
        #expect(try await server.greetedClient().result().code == .timedOut)
        await server.server.shutDown()
    }

    @Test func aRunningUploadFinishesBeforeTheServerGoes() async throws {
        let server = try await TestServer()
        let client = try await server.greetedClient()
        await client.send(Frames.begin("last", size: 100 << 20, expectsAccept: true))
        guard case .message(.accept) = try await client.next() else {
            throw RawClient.Failure(description: "no accept")
        }
        let end = Task { await server.server.shutDown() }
        // The listener closes first; from then on the server is stopping.
        while (try? server.client()) != nil { await Task.yield() }
        let part = [UInt8](repeating: 8, count: 1 << 20)
        for _ in 0..<100 { await client.send(Frames.data(part)) }
        await client.send(Frames.end(Array(repeating: part, count: 100).flatMap { $0 }))
        #expect(try await client.result().code == .committed)
        guard case .message(.goodbye(let goodbye)) = try await client.next() else {
            throw RawClient.Failure(description: "no goodbye")
        }
        #expect(goodbye.code == .shuttingDown)
        #expect(try await client.next() == .closed)
        await end.value
    }

    @Test func theGracePeriodEnds() async throws {
        let server = try await TestServer { $0.drain = .milliseconds(100) }
        let client = try await server.greetedClient()
        await client.send(Frames.begin("never", size: 1000, expectsAccept: true))
        guard case .message(.accept) = try await client.next() else {
            throw RawClient.Failure(description: "no accept")
        }
        await server.server.shutDown()
        #expect(server.tree.isEmpty)
    }

    @Test func idleConnectionsHearGoodbye() async throws {
        let server = try await TestServer()
        let client = try await server.greetedClient()
        await server.server.shutDown()
        guard case .message(.goodbye(let goodbye)) = try await client.next() else {
            throw RawClient.Failure(description: "no goodbye")
        }
        #expect(goodbye.code == .shuttingDown)
        #expect(try await client.next() == .closed)
    }

    @Test func aPortInUseSaysWhatToDo() async throws {
        let server = try await TestServer()
        let other = try TemporaryDirectory()
        let second = try Server(
            ServerConfiguration(
                directory: other.path, endpoints: [.internet(host: "127.0.0.1", port: server.port)]),
            log: Log(descriptor: -1))
        let error = await #expect(throws: ServerError.self) { try await second.start() }
        #expect(error?.message.contains("127.0.0.1:\(server.port)") ?? false)
        #expect(error?.message.contains("--listen") ?? false)
        await server.server.shutDown()
    }

    @Test func aUnixSocketServesToo() async throws {
        let directory = try TemporaryDirectory()
        let path = directory.path("socket")
        let server = try Server(
            ServerConfiguration(directory: directory.path("store"), endpoints: [.unix(path: path)]),
            log: Log(descriptor: -1))
        #expect(try await server.start() == [.unix(path: path)])
        await server.shutDown()
        #expect(access(path, F_OK) != 0)
    }
}
