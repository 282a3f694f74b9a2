import Testing

@testable import TransferServer

@Suite struct RateEstimateTests {
    private static let second: Int64 = 1_000_000_000

    /// Adds bytes at a constant rate, in steps of a tenth of a second.
    private static func steady(_ bytesPerSecond: UInt64, seconds: Int64) -> RateEstimate {
        var estimate = RateEstimate(start: 0)
        for step in 1...10 * seconds { estimate.add(bytesPerSecond / 10, at: step * second / 10) }
        return estimate
    }

    @Test(arguments: [1, 2, 60] as [Int64]) func somethingSteady(_ seconds: Int64) {
        let rate = Self.steady(1_000_000, seconds: seconds).rate(at: seconds * Self.second)
        #expect((900_000...1_100_000).contains(rate), "\(rate)")
    }

    @Test func whatStandsStillFades() {
        let estimate = Self.steady(1_000_000, seconds: 10)
        let rates = (10...20).map { estimate.rate(at: $0 * Self.second) }
        #expect(rates == rates.sorted(by: >))
        #expect(rates[10] < 10_000)
        #expect(estimate.rate(at: 3_600 * Self.second) < 1)
    }

    @Test func newOnesCountMore() {
        var estimate = Self.steady(1_000_000, seconds: 10)
        for step in 101...200 { estimate.add(200_000, at: Int64(step) * Self.second / 10) }
        let rate = estimate.rate(at: 20 * Self.second)
        #expect((1_900_000...2_200_000).contains(rate), "\(rate)")
    }

    @Test func nothingIsNothing() {
        #expect(RateEstimate(start: 5).rate(at: 5) == 0)
        #expect(RateEstimate(start: 5).rate(at: 0) == 0)
        #expect(RateEstimate(start: 5).rate(at: .max) == 0)
    }

    /// Bytes added at a single moment, as in a batch, give a large but finite rate.
    @Test func atOnce() {
        var estimate = RateEstimate(start: 0)
        estimate.add(.max, at: 0)
        estimate.add(.max, at: 0)
        #expect(estimate.rate(at: 0).isFinite)
    }
}
