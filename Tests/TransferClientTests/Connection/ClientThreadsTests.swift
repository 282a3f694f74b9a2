import Glibc
import Testing
import TransferClient
import TransferModel
import TransferTestSupport

/// The threads of a client end when it is released.
@Suite struct ClientThreadsTests {
    private static let clients = 50

    @Test func pushesLeaveNoThreadsBehind() async throws {
        try await expectNoThreads { client in
            let reports = try await client.push(.text("x", name: "x"))
            #expect(reports.count == 1)
        }
    }

    @Test func requestsLeaveNoThreadsBehind() async throws {
        let out = try TemporaryDirectory()
        try await expectNoThreads { client in
            let failure = await all(client.list()).failure
            #expect(failure == nil)
            for try await _ in client.pull([""], to: out.path) {}
            // A pull that fails early still has requests left to send.
            let refused = await all(client.pull(["", "x"], to: "/dev/null/x")).failure
            #expect(refused != nil)
            let left = client.list(isRecursive: true)
            left.cancel()
        }
    }

    /// - Parameter use: the calls for each client.
    private func expectNoThreads(behind use: @escaping @Sendable (TransferClient) async throws -> Void) async throws {
        try await withServer { server in
            let before = Self.threads()
            weak var last: TransferClient?
            for _ in 0..<Self.clients {
                let client = try TransferClient(server: server.address, configuration: .patient)
                try await use(client)
                last = client
            }
            while last != nil { await Task.yield() }
            // Other tests start and end clients at the same time, even ones that were counted before; the fifty clients
            // here would make a much larger difference. Threads need a moment to end.
            while Self.threads() - before >= Self.clients / 2 { await Task.yield() }
        }
    }

    /// Threads of this process that belong to clients, by their names.
    private static func threads() -> Int {
        names(in: "/proc/self/task").count { thread in
            guard let name = Files.read("/proc/self/task/\(thread)/comm") else { return false }
            return ["transfer-client\n", "transfer-read\n"].contains(String(decoding: name, as: UTF8.self))
        }
    }
}
