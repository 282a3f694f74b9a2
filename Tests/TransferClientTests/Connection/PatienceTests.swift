import Testing
import TransferModel
import TransferTestSupport

@testable import TransferClient

@Suite struct PatienceTests {
    private let start = MonotonicTime(nanoseconds: 1_000_000_000)
    private let noHold = Interval(nanoseconds: 0)

    @Test(arguments: 0..<5 as Range<UInt64>) func waitsLongerEachTimeUntilItIsOver(seed: UInt64) throws {
        var (random, patience) = (SplitMix64(seed: seed), Patience(seconds: 60))
        var (now, waits): (MonotonicTime, [Interval]) = (start, [])
        while let wait = patience.lost(noHold, now: now, using: &random) {
            waits.append(wait)
            now = now + wait
            // Each attempt takes some time, too.
            now = now + .milliseconds(10)
        }
        #expect(try #require(waits.first) <= .milliseconds(100))
        #expect(waits.allSatisfy { $0 <= .seconds(5) })
        #expect(try #require(waits.last) >= .milliseconds(2500))
        #expect((55...60).contains(patience.tried(now: now)))
    }

    @Test func runsFromTheFirstLossOn() throws {
        var (random, patience) = (SplitMix64(seed: 1), Patience(seconds: 10))
        #expect(patience.tried(now: start) == 0)
        let first = patience.lost(noHold, now: start, using: &random)
        #expect(first != nil)
        #expect(patience.tried(now: start + .seconds(4)) == 4)
        let late = patience.lost(noHold, now: start + .seconds(10), using: &random)
        #expect(late == nil)
    }

    /// The first attempt gets all of the time, and later ones the rest.
    @Test func runsFromTheFirstTryOnWhereThatIsAskedFor() {
        var (random, patience) = (SplitMix64(seed: 1), Patience(seconds: 10))
        #expect(patience.share(with: 0, now: start) == nil)
        patience.begin(now: start)
        #expect(patience.share(with: 0, now: start) == .seconds(10))
        #expect(patience.share(with: 3, now: start) == .seconds(2.5))
        patience.begin(now: start + .seconds(5))
        #expect(patience.share(with: 0, now: start + .seconds(8)) == .seconds(2))
        #expect(patience.share(with: 0, now: start + .seconds(11)) == noHold)
        let late = patience.lost(noHold, now: start + .seconds(10), using: &random)
        #expect(late == nil)
        #expect(patience.tried(now: start + .seconds(10)) == 10)
    }

    @Test func beginsAnewWithProgress() throws {
        var (random, patience) = (SplitMix64(seed: 1), Patience(seconds: 10))
        for _ in 0..<6 { _ = patience.lost(noHold, now: start, using: &random) }
        patience.progressed()
        #expect(patience.tried(now: start + .seconds(9)) == 0)
        let wait = patience.lost(noHold, now: start + .seconds(100), using: &random)
        #expect(try #require(wait) <= .milliseconds(100))
    }

    @Test func waitsAsLongAsTheServerSays() throws {
        var (random, patience) = (SplitMix64(seed: 1), Patience(seconds: 10))
        let wait = patience.lost(.seconds(7), now: start, using: &random)
        #expect(wait == .seconds(7))
        // The pause would end after the limit.
        let other = patience.lost(.seconds(7), now: start + .seconds(7), using: &random)
        #expect(other == nil)
    }

    @Test func noneIsNone() {
        var (random, patience) = (SplitMix64(seed: 1), Patience(seconds: 0))
        let wait = patience.lost(noHold, now: start, using: &random)
        #expect(wait == nil)
        #expect(patience.tried(now: start) == 0)
        patience.begin(now: start)
        // A limit of 0 allows one attempt of any length.
        #expect(patience.share(with: 0, now: start) == nil)
    }
}
