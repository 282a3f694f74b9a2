import Glibc
import Synchronization
import Testing
import TransferIO
import TransferModel
import TransferProtocol
import TransferTestSupport

@testable import TransferServer

extension ServerTests {
    /// Clients that request more than they read, and other clients beside them. They use Unix-domain sockets, whose
    /// buffers are small and do not grow.
    @Suite(.oneServer) struct FlowControlTests {
        private func serving(
            _ change: (inout ServerConfiguration) -> Void = { _ in },
            _ body: @escaping @Sendable (TestServer) throws -> Void
        ) async throws {
            let directory = try TemporaryDirectory()
            let endpoint = Endpoint.unix(path: directory.path("socket"))
            try await TransferServerTests.serving(change, listen: [endpoint], in: directory, body)
        }

        /// A client sends as many uploads as it may have without a result, and reads no results. Both the uploads and
        /// the results, which repeat a long path, are more than the buffers hold, so the server stops reading from the
        /// client.
        @Test func whoDoesNotReadResultsIsNotReadEither() async throws {
            try await serving { server in
                let path = String(repeating: "directory/", count: 90) + "file"
                let client = try server.greetedClient()
                client.send(Frames.upload(path, [1]))
                #expect(try client.result().code == .committed)
                let count = Limits.unacknowledgedUploads
                let content = [UInt8](repeating: 2, count: 8 << 10)
                let all = (0..<count).flatMap { _ in Frames.upload(path, content, conflict: .skip) }
                let (writer, wasTaken) = client.sendUntilStalled(all)
                defer { writer.join() }
                #expect(!wasTaken, "the server takes uploads without end from a client that reads no results")
                try server.checkServes()
                for _ in 0..<count { #expect(try client.result().code == .skipped) }
            }
        }

        @Test func whoDoesNotReadPongsIsNotReadEither() async throws {
            try await serving { server in
                let client = try server.greetedClient()
                let count = 200_000
                let one = Frames.encoded(.ping(1))
                let (writer, wasTaken) = client.sendUntilStalled(
                    (0..<count).flatMap { _ in one })
                defer { writer.join() }
                #expect(!wasTaken)
                try server.checkServes()
                for _ in 0..<count {
                    guard case .message(.pong(1)) = try client.next() else {
                        throw RawClient.Failure(description: "no pong")
                    }
                }
            }
        }

        /// With a single loop, clients that send pings for ever and read the pongs must not keep the loop to
        /// themselves.
        @Test func pingsWithoutEndDoNotStopTheOthers() async throws {
            try await serving({ $0.loops = 1 }) { server in
                let isOver = Box(Atomic(false))
                let noisy = try (0..<3).map { _ in try server.greetedClient() }
                let pings = (0..<1000).flatMap { Frames.encoded(.ping($0)) }
                let threads = noisy.flatMap { client in
                    [
                        TestThread {
                            while !isOver.value.load(ordering: .relaxed) { client.send(pings) }
                            client.endSending()
                        },
                        TestThread { try? client.waitForClose() },
                    ]
                }
                defer {
                    isOver.value.store(true, ordering: .relaxed)
                    for thread in threads { thread.join() }
                }
                for _ in 0..<5 { try server.checkServes() }
            }
        }

        @Test func manyIdleConnectionsAndAnUploadBesideThem() async throws {
            try await serving { server in
                let idle = try (0..<250).map { _ in try server.greetedClient() }
                try server.checkServes()
                for client in idle {
                    client.send(.ping(1))
                    #expect(try client.next() == .message(.pong(1)))
                }
            }
        }

        /// There are more uploads in progress than the server has buffers or threads.
        @Test func manyLanesAtOnce() async throws {
            try await serving({ $0.blockingThreads = 2 }) { server in
                let content = [UInt8](repeating: 3, count: 100_000)
                let clients = try (0..<100).map { _ in try server.greetedClient() }
                for (number, client) in clients.enumerated() {
                    client.send(Frames.begin("lane-\(number)", size: 200_000) + Frames.data(content))
                }
                for client in clients.reversed() { client.send(Frames.data(content) + Frames.end(content + content)) }
                for client in clients { #expect(try client.result().code == .committed) }
                #expect(server.tree.count == 100)
            }
        }

        /// More frames in one buffer than steps in one batch, so that several batches share the buffer; and uploads
        /// after them.
        @Test func tinyFramesBeyondCounting() async throws {
            try await serving { server in
                let client = try server.greetedClient()
                let empty = Frames.data([])
                let padding = (0..<3 * BinaryBatch.mostOperations).flatMap { _ in empty }
                for round in 0..<20 {
                    let content = [UInt8](repeating: UInt8(round), count: 1 + round * 997)
                    client.send(
                        Frames.begin("padded-\(round)", size: UInt64(content.count)) + padding + Frames.data(content)
                            + padding + Frames.end(content) + Frames.upload("beside-\(round)", content))
                }
                for _ in 0..<40 { #expect(try client.result().code == .committed) }
                #expect(server.content("padded-19") == server.content("beside-19"))
                client.send(Frames.encoded(.ping(5)))
                #expect(try client.nextMessage() == .pong(5))
            }
        }

        /// When the results waiting for all clients have reached their limit, clients without waiting results are still
        /// served.
        @Test func aCrowdThatDoesNotReadLeavesOthersServed() async throws {
            try await serving { server in
                server.server.core.transport.unsent.wrappingAdd(1 << 30, ordering: .relaxed)
                let client = try server.greetedClient()
                for number in 0..<100 { client.send(Frames.upload("a-\(number)", [1])) }
                for _ in 0..<100 { #expect(try client.result().code == .committed) }
                server.server.core.transport.unsent.wrappingSubtract(1 << 30, ordering: .relaxed)
            }
        }

        /// Results waiting for a connection that has ended no longer count.
        @Test func whatWaitsForClientsIsCounted() async throws {
            try await serving { server in
                let unsent = { server.server.core.transport.unsent.load(ordering: .relaxed) }
                do {
                    let client = try server.greetedClient()
                    let one = Frames.encoded(.ping(1))
                    let (writer, _) = client.sendUntilStalled((0..<80_000).flatMap { _ in one })
                    try server.waitUntil("as much waits as may") { unsent() >= 256 << 10 }
                    for _ in 0..<80_000 { _ = try client.next() }
                    writer.join()
                    #expect(unsent() == 0)
                    client.send((0..<20_000).flatMap { _ in one })
                }
                try server.waitUntil("nothing waits") { unsent() == 0 }
            }
        }

        /// The clients have broken the protocol and neither read nor close. Their last results wait, and no other
        /// client does.
        @Test func lingeringConnectionsHoldNoBuffers() async throws {
            try await serving { server in
                let faulty = try (0..<150).map { _ in try server.greetedClient() }
                for client in faulty { client.send([0, 1]) }
                for client in faulty { #expect(try client.result().code == .unsupportedVersion) }
                let client = try server.greetedClient()
                client.send(Frames.upload("beside", [1]))
                #expect(try client.result().code == .committed)
            }
        }
    }
}

/// Shares a noncopyable value among threads.
final class Box<Value: ~Copyable & Sendable>: Sendable {
    let value: Value
    init(_ value: consuming Value) { self.value = value }
}
