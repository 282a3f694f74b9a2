import Testing
import TransferHTTP
import TransferIO
import TransferModel
import TransferProtocol
import TransferTestSupport

@testable import TransferServer

extension ServerTests {
    /// A server that is asked to stop goes on serving until balancers have noticed.
    @Suite struct DrainDelayTests {
        private static func isReady(_ server: TestServer) throws -> Bool {
            try HTTPClient(server).ask(.get, "/readyz").status == 200
        }

        @Test func itServesAndSaysThatItStops() async throws {
            try await serving({
                $0.http = .on
                $0.drainDelay = .seconds(3600)
            }) { server in
                let (frames, idle) = (try server.greetedClient(), try HTTPClient(server))
                #expect(try idle.ask(.get, "/readyz").status == 200)
                server.beginShutDown()
                try server.waitUntil("it is not ready") { (try? Self.isReady(server)) == false }
                #expect(server.server.core.status().isStopping)
                // New connections are served like old ones, and uploads begin.
                #expect(try frames.codes(to: Frames.upload("old", [1])) == [.committed])
                try server.checkServes()
                let late = try HTTPClient(server)
                let answer = try late.ask(.put, "/late", [], [1, 2])
                #expect(answer.status == 201 && answer["connection"] == "close")
                #expect(try late.isClosed())
                let last = try idle.ask(.get, "/late")
                #expect(last.status == 200 && last["connection"] == "close" && last.content == [1, 2])
                #expect(try idle.isClosed())
                let answered = try HTTPClient(server).ask(.get, "/readyz")
                #expect(answered.status == 503 && answered.text.contains("\"reasons\":[\"stopping\"]"))
            }
        }

        /// Idle connections that a client keeps for later are closed, also those that become idle during the delay.
        @Test func idleConnectionsAreClosed() async throws {
            try await serving({
                $0.http = .on
                $0.drainDelay = .seconds(3600)
                $0.timeouts.rest = .milliseconds(1)
            }) { server in
                let clients = try (0..<10).map { _ in try HTTPClient(server) }
                for client in clients { #expect(try client.ask(.put, "/x?policy=overwrite", [], [1]).status < 300) }
                server.beginShutDown()
                for client in clients { #expect(try client.isClosed()) }
                try server.checkServes()
            }
        }

        @Test func theDelayEnds() async throws {
            try await serving({ $0.drainDelay = .milliseconds(20) }) { server in
                let client = try server.greetedClient()
                server.beginShutDown()
                #expect(try client.goodbye().code == .shuttingDown)
                #expect(try client.next() == .closed)
                server.waitUntilClosed()
            }
        }

        /// A second request to stop ends the delay and the connections.
        @Test func aSecondRequestEndsTheDelay() async throws {
            let server = try await TestServer(
                { $0.drainDelay = .seconds(3600) }, listen: [TestServer.anyPort], log: TestServer.noLog, in: .init())
            let client = try await TestThread.run {
                let client = try server.greetedClient()
                client.send(Frames.begin("never", size: 5_000_000, expectsAccept: true))
                try client.expectAccept()
                return client
            }
            server.beginShutDown()
            try await TestThread.run {
                try server.waitUntil("it is about to stop") { server.server.core.isStopping }
            }
            await server.end()
            #expect(await server.server.connectionCount == 0)
            try await TestThread.run { try client.waitForClose() }
        }
    }
}
