import Testing

@testable import TransferModel

@Suite struct SizeNotationTests {
    @Test(
        arguments: [
            ("0", 0), ("500", 500), ("500B", 500), ("1K", 1024), ("1k", 1024), ("1KiB", 1024), ("1kib", 1024),
            ("1KB", 1000), ("10M", 10 << 20), ("10MB", 10_000_000), ("4GiB", 4 << 30), ("4GB", 4_000_000_000),
            ("1.5G", 3 << 29), ("1.5GB", 1_500_000_000), ("2T", 2 << 40), ("2TB", 2_000_000_000_000),
            ("0.5K", 512), ("1.9", 1), ("0.0009765625K", 1), ("0.9999999999999999999999999K", 1023),
            ("1.000000000000000000000000000000000000000000000000000001M", 1 << 20),
            ("0000000000000000000000000000000000000000000001", 1),
            ("9223372036854775807", UInt64(Int64.max)), ("8388607.999999999999999999T", UInt64(Int64.max)),
        ] as [(String, UInt64)]) func reads(_ text: String, bytes: UInt64) throws
    {
        #expect(try SizeNotation.bytes(text) == bytes)
    }

    @Test(arguments: [
        "", "M", "K5", "-1", "+1", " 1", "1 ", "1 M", "1.", ".5", "1.M", "1..2", "1.2.3", "1e3", "0x10", "inf", "nan",
        "10X", "10MM", "10iB", "10P", "1,5G", "٣", "1\u{301}", "1M\u{301}", "½",
    ]) func malformed(_ text: String) {
        #expect(throws: QuantityFault.malformed) { try SizeNotation.bytes(text) }
    }

    @Test(arguments: [
        "9223372036854775808", "18446744073709551615", "18446744073709551616", "8388608T", "16777216T",
        "99999999999999999999999999999999", "9223372036854775808.5", "9223372036854775807K",
        String(repeating: "9", count: 10_000) + "T",
    ]) func tooLarge(_ text: String) {
        #expect(throws: QuantityFault.tooLarge) { try SizeNotation.bytes(text) }
    }

    @Test(
        arguments: [
            (0, "0"), (1, "1"), (1_000, "1000"), (1_024, "1K"), (1_025, "1025"), (65_536, "64K"), (10 << 20, "10M"),
            (3 << 29, "1536M"), (2 << 40, "2T"), (UInt64(Int64.max), "9223372036854775807"),
        ] as [(UInt64, String)]) func writes(_ bytes: UInt64, text: String) throws
    {
        #expect(SizeNotation.text(bytes) == text)
        #expect(try SizeNotation.bytes(text) == bytes)
    }
}
