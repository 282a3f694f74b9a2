import Testing

@testable import TransferModel

@Suite struct DurationNotationTests {
    @Test(arguments: [
        ("0", 0), ("20", 20), ("20s", 20), ("1.5s", 1.5), ("0.25", 0.25), ("500ms", 0.5), ("5m", 300), ("2h", 7200),
        ("7d", 604_800), ("10000d", 864_000_000),
    ]) func reads(_ text: String, seconds: Double) throws {
        #expect(try DurationNotation.seconds(text) == seconds)
    }

    @Test(arguments: ["", "s", "-1s", "+1s", "1 s", "1.s", ".5s", "1e3", "inf", "nan", "0x1p3", "5M", "5min", "1h30m"])
    func malformed(_ text: String) {
        #expect(throws: QuantityFault.malformed) { try DurationNotation.seconds(text) }
    }

    @Test(arguments: [
        "10001d", "864000001", String(repeating: "9", count: 400), String(repeating: "9", count: 10_000) + "d",
    ])
    func tooLarge(_ text: String) {
        #expect(throws: QuantityFault.tooLarge) { try DurationNotation.seconds(text) }
    }

    @Test(arguments: [
        (0, "0s"), (1, "1s"), (20, "20s"), (60, "60s"), (90, "90s"), (120, "2m"), (600, "10m"), (3_600, "60m"),
        (7_200, "2h"), (86_400, "24h"), (604_800, "7d"), (0.5, "500ms"), (1.25, "1250ms"), (864_000_000, "10000d"),
    ]) func writes(_ seconds: Double, text: String) throws {
        #expect(DurationNotation.text(seconds) == text)
        #expect(try DurationNotation.seconds(text) == seconds)
    }
}
