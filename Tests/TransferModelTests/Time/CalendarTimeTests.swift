import Glibc
import Testing
import TransferTestSupport

@testable import TransferModel

@Suite struct CalendarTimeTests {
    /// The first and last seconds that fit into 64 bits, with years that no text contains.
    @Test(arguments: [Int64.min, .min + 1, -1, 0, .max - 1, .max]) func everySecondIsOne(_ seconds: Int64) {
        let time = CalendarTime(secondsSince1970: seconds)
        #expect(time.secondsSince1970 == seconds)
        #expect((1...12).contains(time.month) && (1...31).contains(time.day))
        #expect((0..<24).contains(time.hour) && (0..<60).contains(time.minute) && (0..<60).contains(time.second))
    }

    @Test func asTheCLibraryHasIt() {
        var generator = SplitMix64(seed: 12)
        for shift in 0..<2_000 {
            let seconds = Int64(truncatingIfNeeded: generator.next()) >> (8 + shift % 50)
            var (time, parts) = (time_t(seconds), tm())
            let isKnown = gmtime_r(&time, &parts) != nil
            let calendar = CalendarTime(secondsSince1970: seconds)
            #expect(calendar.secondsSince1970 == seconds)
            guard isKnown else { continue }
            #expect(
                [calendar.year, calendar.month, calendar.day, calendar.hour, calendar.minute, calendar.second]
                    == [
                        Int64(parts.tm_year) + 1900, Int64(parts.tm_mon) + 1, Int64(parts.tm_mday),
                        Int64(parts.tm_hour),
                        Int64(parts.tm_min), Int64(parts.tm_sec),
                    ])
        }
    }

    @Test(
        arguments: [
            (1970, 1, 1, 0), (2000, 2, 29, 951_782_400), (2100, 2, 28, 4_107_456_000), (9999, 12, 31, 253_402_214_400),
            (0, 1, 1, -62_167_219_200), (1900, 3, 1, -2_203_891_200),
        ] as [(Int64, Int64, Int64, Int64)]) func days(_ year: Int64, _ month: Int64, _ day: Int64, _ seconds: Int64)
    {
        #expect(CalendarTime(year: year, month: month, day: day)?.secondsSince1970 == seconds)
    }

    @Test(
        arguments: [
            (2026, 2, 29), (2100, 2, 29), (2024, 2, 30), (2026, 4, 31), (2026, 0, 1), (2026, 13, 1), (2026, 1, 0),
            (2026, 1, 32), (-1, 1, 1), (10_000, 1, 1), (.max, .max, .max), (.min, .min, .min),
        ] as [(Int64, Int64, Int64)]) func noSuchDay(_ year: Int64, _ month: Int64, _ day: Int64)
    {
        #expect(CalendarTime(year: year, month: month, day: day) == nil)
    }

    @Test func noSuchTime() {
        #expect(CalendarTime(year: 2026, month: 1, day: 1, hour: 24) == nil)
        #expect(CalendarTime(year: 2026, month: 1, day: 1, minute: 60) == nil)
        #expect(CalendarTime(year: 2016, month: 12, day: 31, hour: 23, minute: 59, second: 60) == nil)
        #expect(CalendarTime(year: 2026, month: 1, day: 1, second: -1) == nil)
    }
}
