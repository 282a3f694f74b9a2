import Testing
import TransferIO
import TransferModel

@testable import TransferClient

@Suite struct LaneAllowanceTests {
    private func allowance(
        _ lanes: ClientConfiguration.Lanes, cores: Int, _ security: ClientConfiguration.Security
    ) -> LaneAllowance {
        var configuration = ClientConfiguration()
        configuration.lanes = lanes
        configuration.security = security
        return configuration.laneAllowance(cores: cores)
    }

    @Test(arguments: [(1, 1, 1), (2, 4, 2), (3, 4, 3), (4, 4, 4), (64, 4, 4)])
    func encryptedOneForEachCoreAtFirst(cores: Int, most: Int, prompt: Int) {
        #expect(allowance(.auto, cores: cores, .tls(ServerTrust())) == LaneAllowance(most: most, prompt: prompt))
        #expect(allowance(.auto, cores: cores, .plaintext) == LaneAllowance(most: most, prompt: most))
    }

    @Test(arguments: [(-1, 1), (1, 1), (3, 3), (32, 32), (33, 32)]) func asManyAsAskedFor(wanted: Int, count: Int) {
        #expect(
            allowance(.fixed(wanted), cores: 1, .tls(ServerTrust()))
                == LaneAllowance(most: count, prompt: count, isChosen: true))
    }

    private static func link(
        _ milliseconds: Int64, isMeasured: Bool = true, held: Double = 0
    ) -> LinkReading {
        LinkReading(
            leastRoundTrip: 1_000_000 * milliseconds, roundTrip: 1_000_000 * milliseconds,
            measuresBandwidth: isMeasured, heldByMemory: held)
    }

    /// On a link whose bandwidth the kernel measures, further connections would only compete.
    @Test(arguments: [
        (link(80), 2), (link(5), 2), (link(4), 4), (link(80, isMeasured: false), 4), (link(80, held: 0.5), 4),
    ])
    func fewOverALineThatIsMeasured(_ link: LinkReading, _ count: Int) {
        #expect(LaneAllowance(most: 4, prompt: 4).lanes(after: .seconds(3), over: link) == count)
        #expect(LaneAllowance(most: 4, prompt: 1).lanes(after: .seconds(0), over: link) == 1)
        #expect(LaneAllowance(most: 9, prompt: 9, isChosen: true).lanes(after: .seconds(3), over: link) == 9)
    }

    /// If the client watches losses, they decide the number of lanes, unless the caller has chosen it or memory limits
    /// the throughput of the two lanes.
    @Test(arguments: [
        (link(80, isMeasured: false), 2, 2), (link(80, isMeasured: false), 32, 32),
        (link(80, isMeasured: false, held: 0.5), 2, 4), (link(80, isMeasured: false, held: 0.5), 8, 8),
        (link(4, isMeasured: false), 8, 4), (link(80), nil, 2),
    ])
    func asManyAsLossesAskFor(_ link: LinkReading, governed: Int?, count: Int) {
        #expect(LaneAllowance(most: 4, prompt: 4).lanes(after: .seconds(3), over: link, governed: governed) == count)
        let chosen = LaneAllowance(most: 9, prompt: 9, isChosen: true)
        #expect(chosen.lanes(after: .seconds(3), over: link, governed: governed) == 9)
    }

    @Test func whereLossesAreLookedAt() {
        let allowance = LaneAllowance(most: 4, prompt: 2)
        #expect(allowance.isGoverned(over: Self.link(5, isMeasured: false)))
        #expect(!allowance.isGoverned(over: Self.link(4, isMeasured: false)))
        #expect(!allowance.isGoverned(over: Self.link(80)))
        let chosen = LaneAllowance(most: 4, prompt: 4, isChosen: true)
        #expect(!chosen.isGoverned(over: Self.link(80, isMeasured: false)))
    }

    /// Each lane gets enough of a limited rate that a server does not consider it dead.
    @Test(arguments: [(nil, 32), (1 << 30, 32), (31 << 10, 31), (20 << 10, 20), (1, 16)] as [(UInt64?, Int)])
    func asManyAsTheRateIsEnoughFor(_ rate: UInt64?, _ count: Int) {
        var configuration = ClientConfiguration()
        configuration.bandwidth = rate
        #expect(configuration.laneAllowance(cores: 2).mostOverLosses == count)
        configuration.lanes = .fixed(32)
        #expect(configuration.laneAllowance(cores: 2).most == count)
    }

    @Test func patience() {
        let allowance = LaneAllowance(most: 4, prompt: 2)
        #expect(allowance.lanes(after: .seconds(0)) == 2 && allowance.lanes(after: .seconds(1.9)) == 2)
        #expect(allowance.lanes(after: LaneAllowance.patience) == 4 && allowance.lanes(after: .seconds(3600)) == 4)
    }
}
