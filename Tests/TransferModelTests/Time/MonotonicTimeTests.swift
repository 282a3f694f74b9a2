import Testing
import TransferModel

@Suite struct MonotonicTimeTests {
    @Test(
        arguments: [
            (0, 5, 5), (10, -3, 7), (.max, 1, .max), (1, .max, .max), (.max, .max, .max), (.min, -1, .min),
            (-1, .min, .min), (.max, .min, -1),
        ] as [(Int64, Int64, Int64)]) func additionSaturates(_ time: Int64, interval: Int64, sum: Int64)
    {
        let result = MonotonicTime(nanoseconds: time) + Interval(nanoseconds: interval)
        #expect(result.nanoseconds == sum)
    }

    @Test(
        arguments: [
            (5, 3, 2), (3, 5, -2), (.max, -1, .max), (.max, .min, .max), (.min, 1, .min), (-2, .max, .min),
            (.min, .min, 0),
        ] as [(Int64, Int64, Int64)]) func subtractionSaturates(_ a: Int64, b: Int64, difference: Int64)
    {
        let result = MonotonicTime(nanoseconds: a) - MonotonicTime(nanoseconds: b)
        #expect(result.nanoseconds == difference)
    }

    @Test(
        arguments: [
            (0, 0), (1.5, 1_500_000_000), (1e-9, 1), (-2, -2_000_000_000), (1e10, .max), (-1e10, .min),
            (.infinity, .max), (-.infinity, .min), (.nan, .max), (.greatestFiniteMagnitude, .max),
        ] as [(Double, Int64)]) func secondsSaturate(_ seconds: Double, nanoseconds: Int64)
    {
        #expect(Interval.seconds(seconds).nanoseconds == nanoseconds)
    }

    @Test(
        arguments: [
            (0, 0), (20, 20_000_000), (-20, -20_000_000), (.max, .max), (.min, .min),
        ] as [(Int64, Int64)]) func millisecondsSaturate(_ milliseconds: Int64, nanoseconds: Int64)
    {
        #expect(Interval.milliseconds(milliseconds).nanoseconds == nanoseconds)
    }

    @Test func order() {
        #expect(MonotonicTime(nanoseconds: -1) < MonotonicTime(nanoseconds: 0))
        #expect(Interval.milliseconds(999) < .seconds(1))
        #expect(Interval.milliseconds(1_500).seconds == 1.5)
    }
}
