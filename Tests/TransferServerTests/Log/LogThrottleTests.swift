import Testing
import TransferModel

@testable import TransferServer

@Suite struct LogThrottleTests {
    private static let start = MonotonicTime(nanoseconds: 1_000_000_000_000)

    @Test func aBurstAndThenARate() {
        var throttle = LogThrottle(now: Self.start)
        let burst = (0..<1000).count { _ in throttle.admits(now: Self.start) }
        #expect(burst == LogThrottle.burst)
        let later = (1...100).count { throttle.admits(now: Self.start + .milliseconds(Int64($0) * 10)) }
        #expect(later == LogThrottle.rate)
    }

    @Test func roomComesBackAndIsBounded() {
        var throttle = LogThrottle(now: Self.start)
        _ = (0..<1000).count { _ in throttle.admits(now: Self.start) }
        let much = Self.start + .seconds(86_400)
        let burst = (0..<1000).count { _ in throttle.admits(now: much) }
        #expect(burst == LogThrottle.burst)
    }

    @Test func whatIsLeftOutIsCountedAndToldNowAndThen() {
        var throttle = LogThrottle(now: Self.start)
        let none = throttle.takeLeftOut(now: Self.start)
        #expect(none == nil)
        _ = (0..<LogThrottle.burst + 5).count { _ in throttle.admits(now: Self.start) }
        let first = throttle.takeLeftOut(now: Self.start)
        _ = throttle.admits(now: Self.start)
        let soon = throttle.takeLeftOut(now: Self.start + .seconds(9))
        let later = throttle.takeLeftOut(now: Self.start + .seconds(10))
        _ = throttle.admits(now: Self.start)
        let atTheEnd = throttle.takeLeftOut(now: nil)
        #expect([first, soon, later, atTheEnd] == [5, nil, 1, 1])
    }
}
