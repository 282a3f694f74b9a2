import Testing
import TransferModel
import TransferSystem
import TransferTestSupport

@testable import TransferClient

@Suite struct BandwidthTests {
    /// A busy machine may make the push slower; the test requires only that the rate is not exceeded.
    @Test(arguments: [ClientConfiguration.Lanes.fixed(1), .fixed(4)])
    func isHeldByAllLanesTogether(_ lanes: ClientConfiguration.Lanes) async throws {
        let directory = try TemporaryDirectory()
        let rate: UInt64 = 10_000_000
        var generator = SplitMix64(seed: 5)
        for name in ["a", "b", "c", "d"] { try Files.write(directory.path("in/\(name)"), generator.bytes(1_500_000)) }
        try await withServer { server in
            let start = monotonicNanoseconds()
            let outcome = try await server.address.outcome([.path(directory.path("in"))]) { configuration in
                configuration.lanes = lanes
                configuration.bandwidth = rate
            }
            let seconds = Double(monotonicNanoseconds() - start) / 1e9
            #expect(outcome.codes == [ResultCode](repeating: .committed, count: 4))
            #expect(6_000_000 / seconds < 1.02 * Double(rate))
        }
    }

    /// The client slows a server down by not reading from the connection.
    @Test(arguments: [1, 4]) func holdsWhatIsPulled(lanes: Int) async throws {
        let directory = try TemporaryDirectory()
        let rate: UInt64 = 10_000_000
        try await withServer { server in
            for seed in 1...4 as ClosedRange<UInt64> {
                let content = SplitMix64.bytes(seed: seed, 1_500_000)
                try Files.write(server.directory.path("store/in/\(seed)"), content)
            }
            let start = monotonicNanoseconds()
            let pulled = try await Pulled(["in"], from: server.address, to: directory.path("out")) { configuration in
                configuration.lanes = .fixed(lanes)
                configuration.bandwidth = rate
            }
            let seconds = Double(monotonicNanoseconds() - start) / 1e9
            #expect(pulled.reports.map(\.result) == [ResultCode](repeating: .committed, count: 4))
            // Each connection may receive one burst above the rate.
            let ahead = Double(lanes) * Double(rate) / 20
            #expect((6_000_000 - ahead) / seconds < 1.02 * Double(rate))
        }
    }
}
