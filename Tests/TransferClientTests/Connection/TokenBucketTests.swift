import Testing
import TransferModel
import TransferTestSupport

@testable import TransferClient

@Suite struct TokenBucketTests {
    private static let start = MonotonicTime(nanoseconds: 1_000_000_000)

    /// However callers ask, they get at most the bytes of the rate, and hardly fewer.
    @Test(arguments: [1, 16 << 10, 1 << 20, 10_000_000, 1_000_000_000, UInt64(Int64.max)])
    func holdsTheRate(_ rate: UInt64) {
        var generator = SplitMix64(seed: rate)
        var bucket = TokenBucket(bytesPerSecond: rate, now: Self.start)
        var now = Self.start
        var sent = 0.0
        let end = Self.start + .seconds(100)
        while now < end {
            let count = bucket.take(atMost: Int.random(in: 1...264 << 10, using: &generator), now: now)
            sent += Double(count)
            let limit = Double(rate) * (now - Self.start).seconds
            guard sent <= limit + 1 else {
                Issue.record("\(sent) bytes instead of \(limit)")
                return
            }
            if count == 0 { now = max(bucket.next(for: 264 << 10), now + .milliseconds(1)) }
            // One call cannot take more than the bucket holds, so the test does not use up the highest rates.
            if rate > 1_000_000_000 { now = now + .milliseconds(50) }
        }
        if (16 << 10...1_000_000_000).contains(rate) { #expect(sent > 0.98 * Double(rate) * 100) }
    }

    @Test func whatIsNotTakenIsLost() {
        var bucket = TokenBucket(bytesPerSecond: 1000, now: Self.start)
        #expect(bucket.take(atMost: 1, now: Self.start) == 0)
        #expect(bucket.take(atMost: 5000, now: Self.start + .seconds(3600)) == 200)
    }

    @Test func whatDidNotGoIsThereAgain() {
        var bucket = TokenBucket(bytesPerSecond: 1000, now: Self.start)
        let now = Self.start + .seconds(1)
        #expect(bucket.take(atMost: 150, now: now) == 150)
        bucket.giveBack(100)
        #expect(bucket.take(atMost: 1000, now: now) == 150)
        bucket.charge(100)
        #expect(bucket.take(atMost: 1, now: now + .milliseconds(100)) == 0)
        #expect(bucket.next(for: 1) == now + .milliseconds(101))
    }
}
