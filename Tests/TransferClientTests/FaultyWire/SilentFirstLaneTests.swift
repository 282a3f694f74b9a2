import Testing
import TransferClient
import TransferModel
import TransferTestSupport

@Suite struct SilentFirstLaneTests {
    /// The welcome never arrives on the first lane, but uploads on another lane have succeeded. The push goes on, and
    /// every upload has its report.
    @Test func anotherLaneShowsThatTheServerIsThere() async throws {
        try await withServer { server in
            // Bytes that the first lane sends stay in buffers, so enough uploads remain for the second lane.
            let silent = FaultyProxy.Plan(
                up: FaultPlan([(1 << 20, .pause(60_000))]), down: FaultPlan([(0, .blackHole)]))
            let proxy = FaultyProxy(to: server.port) { $0 == 0 ? silent : .init() }
            let uploads = (0..<24).map { Upload.bytes([UInt8](repeating: $0, count: 1 << 20), name: "\($0)") }
            let outcome = try await proxy.address.outcome(uploads) {
                $0.lanes = .fixed(2)
                $0.compression = .none
                $0.handshakeTimeout = 4
            }
            #expect(outcome.failure == nil)
            #expect(outcome.sources.count == 24)
            #expect(outcome.codes.allSatisfy { $0.isSuccess })
            #expect(server.tree.count == 24)
            withExtendedLifetime(proxy) {}
        }
    }
}
