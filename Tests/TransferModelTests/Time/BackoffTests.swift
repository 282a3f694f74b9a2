import Testing
import TransferModel
import TransferTestSupport

@Suite struct BackoffTests {
    @Test(arguments: 0..<20 as Range<UInt64>) func doublesUpToTheLongest(_ seed: UInt64) {
        var generator = SplitMix64(seed: seed)
        var backoff = Backoff(first: .milliseconds(100), longest: .seconds(5))
        for ceiling in [100, 200, 400, 800, 1_600, 3_200, 5_000, 5_000, 5_000] as [Int64] {
            let wait = backoff.next(using: &generator)
            #expect(wait >= Interval(nanoseconds: ceiling * 500_000))
            #expect(wait <= .milliseconds(ceiling))
        }
    }

    @Test func clientsDoNotComeBackTogether() {
        let waits = (0..<100 as Range<UInt64>).map { seed in
            var generator = SplitMix64(seed: seed)
            var backoff = Backoff()
            return backoff.next(using: &generator)
        }
        #expect(Set(waits).count > 90)
    }

    @Test func startsAgainAfterSuccess() {
        var generator = SplitMix64(seed: 5)
        var backoff = Backoff()
        for _ in 0..<10 { _ = backoff.next(using: &generator) }
        backoff.reset()
        #expect(backoff.next(using: &generator) <= backoff.first)
    }

    @Test func neverTraps() {
        var generator = SplitMix64(seed: 6)
        for first in [Interval(nanoseconds: 0), Interval(nanoseconds: 1), .seconds(10), .seconds(.infinity)] {
            var backoff = Backoff(first: first, longest: .seconds(.infinity))
            for _ in 0..<100 { #expect(backoff.next(using: &generator) >= Interval(nanoseconds: 0)) }
        }
    }

    @Test func firstMayBeTheLongest() {
        var generator = SplitMix64(seed: 7)
        var backoff = Backoff(first: .seconds(60), longest: .seconds(5))
        #expect(backoff.next(using: &generator) <= .seconds(5))
    }
}
