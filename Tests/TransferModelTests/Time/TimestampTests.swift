import Testing
import TransferTestSupport

@testable import TransferModel

@Suite struct TimestampTests {
    @Test(
        arguments: [
            (0, 0, "1970-01-01T00:00:00Z", "1970-01-01T00:00:00.000Z", "1970-01-01T00:00:00Z"),
            (951_868_799, 7, "2000-02-29T23:59:59Z", "2000-02-29T23:59:59.000Z", "2000-02-29T23:59:59.000000007Z"),
            (1_769_884_205, 250_000_000, "2026-01-31T18:30:05Z", "2026-01-31T18:30:05.250Z", "2026-01-31T18:30:05.25Z"),
            (
                253_402_300_799, 999_999_999, "9999-12-31T23:59:59Z", "9999-12-31T23:59:59.999Z",
                "9999-12-31T23:59:59.999999999Z"
            ),
            (-1, 500_000_000, "1969-12-31T23:59:59Z", "1969-12-31T23:59:59.500Z", "1969-12-31T23:59:59.5Z"),
        ] as [(Int64, UInt32, String, String, String)])
    func texts(_ seconds: Int64, _ nanoseconds: UInt32, _ short: String, _ thousandths: String, _ exact: String) {
        let time = Timestamp(seconds: seconds, nanoseconds: nanoseconds)
        #expect(time.text(.seconds) == short)
        #expect(time.text(.milliseconds) == thousandths)
        #expect(time.text(.exact) == exact)
    }

    @Test func forms() {
        let time = Timestamp(seconds: 1_769_884_205, nanoseconds: 0)
        #expect(time.text(.seconds, .basic) == "20260131T183005Z")
        #expect(time.text(.seconds, .name) == "2026-01-31T18-30-05Z")
    }

    /// Times that no other program writes, and nanoseconds of more than a second.
    @Test func neverTraps() {
        #expect(Timestamp(seconds: .max, nanoseconds: .max).text(.exact) == "292277026596-12-04T15:30:07.4294967295Z")
        #expect(Timestamp(seconds: .min, nanoseconds: .max).text(.milliseconds) == "-292277022657-01-27T08:29:52.4294Z")
        #expect(Timestamp(seconds: .min, nanoseconds: 0).text(.seconds, .basic) == "-2922770226570127T082952Z")
    }

    @Test func isReadAgain() throws {
        var generator = SplitMix64(seed: 13)
        for _ in 0..<1_000 {
            let time = Timestamp(
                seconds: .random(in: -62_167_219_200...253_402_300_799, using: &generator),
                nanoseconds: .random(in: 0..<1_000_000_000, using: &generator))
            let written = try #require(WrittenTime(time.text(.exact)))
            #expect(written.calendar.secondsSince1970 == time.seconds && written.isUTC)
            #expect(written.nanoseconds == time.nanoseconds)
        }
    }
}
