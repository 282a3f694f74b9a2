import Glibc
import Testing
import TransferClient
import TransferModel
import TransferTestSupport

/// A client's threads end with it.
@Suite struct ClientThreadsTests {
    private static let clients = 50

    @Test func clientsLeaveNoThreadsBehind() async throws {
        try await withServer { server in
            let before = Self.threads()
            weak var last: TransferClient?
            for _ in 0..<Self.clients {
                let client = try TransferClient(server: server.address, configuration: .patient)
                #expect(try await client.push(.text("x", name: "x")).count == 1)
                last = client
            }
            while last != nil { await Task.yield() }
            // Clients of other tests come and go meanwhile; all of these would be many more. Ending takes a moment.
            while Self.threads() - before >= Self.clients { await Task.yield() }
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
