import Glibc
import Testing
import TransferModel
import TransferProtocol
import TransferServer
import TransferTestSupport

extension ServerTests {
    /// The server ends its connections when it stops.
    @Suite(.oneServer) struct ShutDownTests {
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

        /// The end of the second upload is the last frame that the server waits for, long after the first upload was
        /// acknowledged.
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

        /// Between two parts no connection has an open upload, and yet an upload is in progress.
        @Test func anUploadInPartsFinishesOverAllItsConnections() async throws {
            try await serving({ $0.drain = .seconds(3600) }) { server in
                let content = [UInt8](repeating: 3, count: 8 << 20)
                let upload = PartedUpload("long", content)
                let (first, second) = try (server.greetedClient(run: 1), server.greetedClient(run: 1))
                let other = try server.greetedClient(run: 2)
                #expect(try first.codes(to: upload.part(0..<4 << 20)) == [.staged])
                server.beginShutDown()
                server.waitUntilClosed()
                #expect(try other.goodbye().code == .shuttingDown)
                #expect(try other.next() == .closed)
                #expect(try second.codes(to: Frames.upload("late", [1])) == [.shuttingDown])
                #expect(try second.codes(to: upload.part(4 << 20..<8 << 20)) == [.staged])
                #expect(try second.codes(to: upload.multipart) == [.committed])
                for client in [first, second] {
                    #expect(try client.goodbye().code == .shuttingDown)
                    #expect(try client.next() == .closed)
                }
                #expect(server.tree == ["long"] && server.content("long") == content)
            }
        }

        /// The server does not wait for an upload in parts that begins after it has begun to stop.
        @Test func noUploadInPartsBegins() async throws {
            try await serving({ $0.drain = .seconds(3600) }) { server in
                let upload = PartedUpload("late", [UInt8](repeating: 3, count: 8 << 20))
                let client = try server.greetedClient()
                client.send(Frames.begin("last", size: 2, expectsAccept: true))
                try client.expectAccept()
                server.beginShutDown()
                server.waitUntilClosed()
                let rest = Frames.data([1, 2]) + Frames.end([1, 2])
                let codes = try client.codes(2, to: rest + upload.part(0..<4 << 20))
                #expect(Set(codes) == [.committed, .shuttingDown])
                try client.waitForClose()
                #expect(server.tree == ["last"] && server.parts.isEmpty)
            }
        }

        /// An upload that ends without an acknowledgement does not delay the end of the server.
        @Test func anUploadInPartsThatIsTakenBackIsOver() async throws {
            try await serving({ $0.drain = .seconds(3600) }) { server in
                let upload = PartedUpload("gone", [UInt8](repeating: 3, count: 8 << 20))
                let (first, second) = try (server.greetedClient(run: 1), server.greetedClient(run: 1))
                #expect(try first.codes(to: upload.part(0..<4 << 20)) == [.staged])
                server.beginShutDown()
                server.waitUntilClosed()
                #expect(try first.codes(to: upload.withdrawal) == [.aborted])
                for client in [first, second] { #expect(try client.goodbye().code == .shuttingDown) }
                #expect(server.tree.isEmpty && server.parts.isEmpty)
            }
        }

        @Test func theGracePeriodEnds() async throws {
            try await serving({ $0.drain = .milliseconds(100) }) { server in
                let client = try server.greetedClient()
                client.send(Frames.begin("never", size: 5_000_000, expectsAccept: true))
                try client.expectAccept()
                server.beginShutDown()
                // A result says that the server stops, so the client need not guess from the end of the connection.
                let result = try client.result()
                #expect(result.id == .none && result.code == .shuttingDown)
                #expect(try client.next() == .closed)
                try server.waitUntil("the part is gone") { server.parts.isEmpty }
                #expect(server.tree.isEmpty)
            }
        }

        @Test func whatHasArrivedInPartsIsThereAfterTheGracePeriod() async throws {
            let directory = try TemporaryDirectory()
            let upload = PartedUpload("long", [UInt8](repeating: 3, count: 12 << 20))
            try await serving({ $0.drain = .milliseconds(100) }, in: directory) { server in
                let client = try server.greetedClient()
                #expect(try client.codes(to: upload.part(0..<4 << 20)) == [.staged])
                // The client sends a whole block of the second part, and some of the next.
                let half = upload.part(4 << 20..<12 << 20).prefix(6 << 20)
                client.send(Array(half))
                server.beginShutDown()
                #expect(try client.result().code == .shuttingDown)
                try client.waitForClose()
                #expect(server.tree.isEmpty)
            }
            try await serving(in: directory) { server in
                let client = try server.greetedClient()
                client.send(upload.question)
                guard case .have(let have) = try client.answer() else {
                    throw RawClient.Failure(description: "nothing was kept")
                }
                #expect(have.first == 0 && !have.digests.isEmpty)
                #expect(have.digests[...] == upload.blocks.prefix(have.digests.count))
            }
        }

        /// A client that never reads, with results waiting for it, delays the server no longer than the grace period.
        @Test func whoDoesNotReadHoldsItNoLongerThanTheGracePeriod() async throws {
            let server = try await TestServer(
                { $0.drain = .milliseconds(100) }, listen: [TestServer.anyPort], log: TestServer.noLog, in: .init())
            let client = try await TestThread.run {
                let client = try server.greetedClient()
                client.send((0..<2000).flatMap { _ in Frames.upload("../no", [1]) })
                client.send(Frames.begin("never", size: 5_000_000))
                return client
            }
            await server.server.shutDown()
            #expect(await server.server.connectionCount == 0)
            #expect(server.tree.isEmpty && server.parts.isEmpty)
            try await TestThread.run { try client.waitForClose() }
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
                // A connection without `hello` either gets the goodbye or was not accepted yet.
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
