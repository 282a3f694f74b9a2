import Glibc
import Testing
import TransferTestSupport

@testable import TransferReceipts

@Suite struct ReceiptTimeTests {
    @Test(
        arguments: [
            (0, "1970-01-01T00:00:00.000Z"), (951_782_399_999, "2000-02-28T23:59:59.999Z"),
            (951_782_400_000, "2000-02-29T00:00:00.000Z"), (1_709_164_800_000, "2024-02-29T00:00:00.000Z"),
            (1_767_225_600_500, "2026-01-01T00:00:00.500Z"), (4_107_542_400_000, "2100-03-01T00:00:00.000Z"),
            (253_402_300_799_999, "9999-12-31T23:59:59.999Z"),
        ] as [(UInt64, String)]) func known(_ milliseconds: UInt64, _ text: String)
    {
        #expect(ReceiptTime(milliseconds: milliseconds)?.description == text)
        #expect(ReceiptTime(text)?.milliseconds == milliseconds)
    }

    @Test func asTheCLibraryHasIt() throws {
        var generator = SplitMix64(seed: 11)
        for _ in 0..<2_000 {
            let milliseconds = UInt64.random(in: 0...253_402_300_799_999, using: &generator)
            let time = try #require(ReceiptTime(milliseconds: milliseconds))
            var seconds = time_t(milliseconds / 1_000)
            var parts = tm()
            gmtime_r(&seconds, &parts)
            var text = [CChar](repeating: 0, count: 32)
            let count = strftime(&text, text.count, "%Y-%m-%dT%H:%M:%S", &parts)
            let front = String(decoding: text[..<count].map { UInt8(bitPattern: $0) }, as: UTF8.self)
            #expect(time.description == "\(front).\(String(1_000 + milliseconds % 1_000).dropFirst())Z")
            #expect(ReceiptTime(time.description) == time)
        }
    }

    @Test(arguments: [
        "", "2026-02-29T00:00:00.000Z", "2026-13-01T00:00:00.000Z", "2026-00-01T00:00:00.000Z",
        "2026-01-01T24:00:00.000Z",
        "2026-01-01T00:60:00.000Z", "2026-01-01T00:00:60.000Z", "2026-01-01T00:00:00.000z", "2026-01-01 00:00:00.000Z",
        "2026-01-01T00:00:00.0000", "1969-12-31T23:59:59.999Z", "+026-01-01T00:00:00.000Z", "2026-01-00T00:00:00.000Z",
    ]) func nothingElse(_ text: String) {
        #expect(ReceiptTime(text) == nil)
    }

    @Test func beyondTheYear9999IsNoTime() {
        #expect(ReceiptTime(milliseconds: 253_402_300_800_000) == nil)
        #expect(ReceiptTime(clamping: .max).description == "9999-12-31T23:59:59.999Z")
    }
}
