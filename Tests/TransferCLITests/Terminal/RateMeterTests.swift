import Testing
import TransferModel

@testable import TransferCLI

@Suite struct RateMeterTests {
    static func time(_ seconds: Double) -> MonotonicTime {
        MonotonicTime(nanoseconds: 1_000_000_000_000) + .seconds(seconds)
    }

    static func isNear(_ a: Double, _ b: Double) -> Bool { abs(a - b) <= 0.001 * max(abs(b), 1) }

    @Test(arguments: [0.01, 0.1, 1, 7]) func steadyRateIsExactFromTheStart(step: Double) {
        var meter = RateMeter(bytes: 500, at: Self.time(0))
        #expect(meter.bytesPerSecond == 0)
        for tick in 1...20 {
            let seconds = Double(tick) * step
            meter.record(bytes: 500 + UInt64(seconds * 1e6), at: Self.time(seconds))
            #expect(Self.isNear(meter.bytesPerSecond, 1e6))
        }
    }

    @Test func adaptsWithinSeconds() {
        var meter = RateMeter(at: Self.time(0))
        meter.record(bytes: 10_000, at: Self.time(10))
        for tick in 1...12 { meter.record(bytes: 10_000 + UInt64(tick) * 9_000, at: Self.time(10 + Double(tick))) }
        #expect(meter.bytesPerSecond > 8_500 && meter.bytesPerSecond < 9_000)
    }

    @Test func fallsWhenNothingComes() {
        var meter = RateMeter(at: Self.time(0))
        meter.record(bytes: 1_000_000, at: Self.time(1))
        let before = meter.bytesPerSecond
        meter.record(bytes: 1_000_000, at: Self.time(2))
        #expect(meter.bytesPerSecond < before)
        meter.record(bytes: 1_000_000, at: Self.time(60))
        #expect(meter.bytesPerSecond < 1)
        #expect(meter.secondsLeft(forBytes: 1) == nil)
    }

    @Test func samplesAtTheSameMomentAreJoined() {
        var meter = RateMeter(at: Self.time(0))
        meter.record(bytes: 600, at: Self.time(0))
        meter.record(bytes: 900, at: Self.time(-1))
        #expect(meter.bytesPerSecond == 0)
        meter.record(bytes: 1_000, at: Self.time(1))
        #expect(Self.isNear(meter.bytesPerSecond, 1_000))
    }

    @Test func goingBackIsNoProgress() {
        var meter = RateMeter(bytes: 5_000, at: Self.time(0))
        meter.record(bytes: 1_000, at: Self.time(1))
        #expect(meter.bytesPerSecond == 0)
        meter.record(bytes: 2_000, at: Self.time(2))
        #expect(meter.bytesPerSecond > 0 && meter.bytesPerSecond < 1_000)
    }

    @Test func timeLeft() {
        var meter = RateMeter(at: Self.time(0))
        meter.record(bytes: 2_000, at: Self.time(2))
        #expect(meter.secondsLeft(forBytes: 10_000).map { Self.isNear($0, 10) } == true)
        #expect(meter.secondsLeft(forBytes: 0) == 0)
    }
}
