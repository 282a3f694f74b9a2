import Testing

@testable import TransferModel

@Suite struct UTCTimeTests {
    @Test(
        arguments: [
            (0, "1970-01-01T00:00:00Z"), (951_868_799, "2000-02-29T23:59:59Z"), (1_798_761_600, "2027-01-01T00:00:00Z"),
            (253_402_300_799, "9999-12-31T23:59:59Z"),
        ] as [(Int64, String)]) func readsWhatItWrites(_ seconds: Int64, _ text: String)
    {
        #expect(UTCTime(clamping: seconds).description == text)
        #expect(UTCTime(text)?.seconds == seconds)
    }

    @Test func aDayBeginsAtMidnight() { #expect(UTCTime("2027-01-01")?.seconds == 1_798_761_600) }

    @Test(arguments: [
        "", "2026", "2026-13-01", "2026-02-29", "1969-12-31", "2026-01-01T24:00:00Z", "2026-01-01 00:00:00Z",
        "2026-01-01T00:00:00", "2026-01-01T00:00:60Z", "+026-01-01", "2026-1-001", "2026-01-01T00:00:00.5Z",
    ]) func nothingElse(_ text: String) { #expect(UTCTime(text) == nil) }

    @Test func neverOverflows() {
        #expect(UTCTime(clamping: .max).description == "9999-12-31T23:59:59Z")
        #expect(UTCTime(clamping: .min).seconds == 0)
        #expect(UTCTime(clamping: .max).advanced(bySeconds: .max).description == "9999-12-31T23:59:59Z")
        #expect(UTCTime(clamping: 5).advanced(bySeconds: .min).seconds == 0)
    }
}
