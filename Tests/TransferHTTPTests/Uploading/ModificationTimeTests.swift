import Testing
import TransferHTTP
import TransferModel

@Suite struct ModificationTimeTests {
    static let times: [(String, Int64, UInt32)] = [
        ("0", 0, 0), ("1700000000", 1_700_000_000, 0), ("1700000000.25", 1_700_000_000, 250_000_000),
        ("0.000000001", 0, 1), ("007.10", 7, 100_000_000), ("-1", -1, 0), ("-0", 0, 0), ("-0.5", -1, 500_000_000),
        ("-1.999999999", -2, 1), ("9223372036854775807.9", .max, 900_000_000),
        ("-9223372036854775807.5", .min, 500_000_000),
    ]

    @Test(arguments: times) func isRead(_ text: String, _ seconds: Int64, _ nanoseconds: UInt32) {
        #expect(ModificationTime.parse(text.utf8) == Timestamp(seconds: seconds, nanoseconds: nanoseconds))
    }

    @Test(arguments: [
        "", "-", ".", "1.", ".5", "--1", "+1", "1.2.3", "1e9", "0x1", "1.0000000001", "1,5", " 1", "1 ", "1.-5",
        "\u{661}",
        "9223372036854775808", "99999999999999999999",
    ])
    func isRefused(_ text: String) { #expect(ModificationTime.parse(text.utf8) == nil) }
}
