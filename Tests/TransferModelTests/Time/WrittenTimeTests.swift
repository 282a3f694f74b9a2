import Testing

@testable import TransferModel

@Suite struct WrittenTimeTests {
    @Test(
        arguments: [
            ("2026-01-31", 1_769_817_600, 0, .day, false), ("2026-01-31T18:30", 1_769_884_200, 0, .minute, false),
            ("2026-01-31T18:30Z", 1_769_884_200, 0, .minute, true),
            ("2026-01-31T18:30:05", 1_769_884_205, 0, .second, false),
            ("2026-01-31T18:30:05Z", 1_769_884_205, 0, .second, true),
            ("2026-01-31T18:30:05.5Z", 1_769_884_205, 500_000_000, .fraction(digits: 1), true),
            ("2026-01-31T18:30:05.000000009", 1_769_884_205, 9, .fraction(digits: 9), false),
            ("0000-01-01", -62_167_219_200, 0, .day, false),
        ] as [(String, Int64, UInt32, WrittenTime.Precision, Bool)])
    func reads(
        _ text: String, _ seconds: Int64, _ nanoseconds: UInt32, _ precision: WrittenTime.Precision, _ isUTC: Bool
    ) throws {
        let time = try #require(WrittenTime(text))
        #expect((time.calendar.secondsSince1970, time.nanoseconds) == (seconds, nanoseconds))
        #expect((time.precision, time.isUTC) == (precision, isUTC))
    }

    @Test(arguments: [
        "", "2026", "2026-01", "2026-1-31", "26-01-31", "+026-01-31", "2026-01-31Z", "2026-01-31T", "2026-01-31T18",
        "2026-01-31T18Z", "2026-01-31 18:30", "2026-01-31t18:30z", "2026-01-31T18:30:", "2026-01-31T18:30:05.",
        "2026-01-31T18:30:05.Z", "2026-01-31T18:30:05.0000000001", "2026-01-31T18:30:05+00:00", "2026-01-31T18:30ZZ",
        "2026-02-29", "2026-01-31T24:00",
        "2026-01-31T18:60", "2026-01-31T18:30:60", "2026-01-31T18:30:05,5", "２026-01-31",
        "2026-01-31\0", "20260131T183005Z",
    ])
    func nothingElse(_ text: String) { #expect(WrittenTime(text) == nil) }
}
