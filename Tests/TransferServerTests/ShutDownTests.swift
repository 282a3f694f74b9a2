import Glibc
import Testing
import TransferProtocol
import TransferTestSupport
import TransferServer

extension ServerTests {
    /// How the server goes.
    @Suite struct ShutDownTests {
        @Test func aRunningUploadFinishesFirst() async throws {
            try await serving { server in
                let client = try server.greetedClient()
                let content = [UInt8](repeating: 8, count: 5_000_000)
                client.send(Frames.begin("last", size: 5_000_000, expectsAccept: true))
                try client.expectAccept()
                server.beginShutDown()
                // The listener closes first; from then on the server is stopping.
                server.waitUntilClosed()
                client.send(Frames.stored(content) + Frames.end(content))
                #expect(try client.result().code == .committed)
                #expect(try client.goodbye().code == .shuttingDown)
                #expect(try client.next() == .closed)
                #expect(server.content("last") == content)
            }
        }

        /// The second upload's end comes when the first has long been acknowledged: it is the last thing to wait for.
        @Test func newUploadsAreRefusedAndThenItGoes() async throws {
            try await serving({ $0.drain = .seconds(3600) }) { server in
                let client = try server.greetedClient()
                client.send(Frames.begin("last", size: 2, expectsAccept: true))
                try client.expectAccept()
                server.beginShutDown()
                server.waitUntilClosed()
                let late = UploadID.random()
                client.send(Frames.data([1, 2]) + Frames.end([1, 2]) + Frames.begin("late", size: 2, id: late))
                let results = try [client.result(), client.result()]
                #expect(results.contains { $0.code == .committed })
                #expect(results.contains { $0.code == .shuttingDown && $0.id == late })
                client.send(Frames.data([1, 2]) + Frames.end([1, 2]))
                #expect(try client.goodbye().code == .shuttingDown)
                #expect(try client.next() == .closed)
                #expect(server.tree == ["last"])
            }
        }

        @Test func theGracePeriodEnds() async throws {
            try await serving({ $0.drain = .milliseconds(100) }) { server in
                let client = try server.greetedClient()
                client.send(Frames.begin("never", size: 5_000_000, expectsAccept: true))
                try client.expectAccept()
                server.beginShutDown()
                try client.waitForClose()
                try server.waitUntil("the part is gone") { server.parts.isEmpty }
                #expect(server.tree.isEmpty)
            }
        }

        @Test func idleConnectionsHearGoodbye() async throws {
            try await serving { server in
                let clients = try (0..<20).map { _ in try server.greetedClient() }
                let mute = try server.client()
                server.beginShutDown()
                for client in clients {
                    #expect(try client.goodbye().code == .shuttingDown)
                    #expect(try client.next() == .closed)
                }
                // One that had not said hello either hears it, or was not accepted yet.
                try mute.waitForClose()
            }
        }

        @Test func twiceEndsAtOnce() async throws {
            let server = try await TestServer(
                { _ in }, listen: [TestServer.anyPort], log: TestServer.noLog, in: .init())
            let client = try await TestThread.run {
                let client = try server.greetedClient()
                client.send(Frames.begin("never", size: 5_000_000, expectsAccept: true))
                try client.expectAccept()
                return client
            }
            server.beginShutDown()
            try await TestThread.run { server.waitUntilClosed() }
            await server.server.shutDown()
            await server.end()
            #expect(await server.server.connectionCount == 0)
            #expect(server.parts.isEmpty)
            try await TestThread.run { try client.waitForClose() }
        }
    }
}
