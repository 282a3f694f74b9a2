import Testing

@testable import TransferModel

@Suite struct UploadIDTests {
    private static let id = UploadID(high: 0x0102_0304_0506_0708, low: 0x090A_0B0C_0D0E_0F10)

    @Test(
        arguments: [
            (Self.id, "0102030405060708090a0b0c0d0e0f10"), (.none, String(repeating: "0", count: 32)),
            (UploadID(high: .max, low: .max), String(repeating: "f", count: 32)),
            (UploadID(high: 0, low: 1), String(repeating: "0", count: 31) + "1"),
        ]) func description(_ id: UploadID, text: String)
    {
        #expect(id.description == text)
        #expect(UploadID(hexadecimal: text) == id)
        #expect(UploadID(hexadecimal: text.uppercased()) == id)
    }

    @Test(
        arguments: [
            "", "0", String(repeating: "0", count: 31), String(repeating: "0", count: 33),
            "g" + String(repeating: "0", count: 31), "+" + String(repeating: "0", count: 31),
            String(repeating: "0", count: 16) + "-" + String(repeating: "0", count: 15),
            " " + String(repeating: "0", count: 31), "0x" + String(repeating: "0", count: 30),
            // 32 bytes, but not 32 digits.
            String(repeating: "é", count: 16), "\r\n" + String(repeating: "0", count: 30),
            String(repeating: "0", count: 30) + "\u{301}", "０" + String(repeating: "0", count: 29),
        ]) func otherTexts(_ text: String)
    {
        #expect(UploadID(hexadecimal: text) == nil)
    }

    @Test func wireOrder() {
        var bytes: [UInt8] = []
        Self.id.encode(into: &bytes)
        #expect(bytes == Array(1...16))
        #expect(bytes.count == UploadID.size)
    }

    @Test func randomOnesAreNeverNoneAndDiffer() {
        let ids = (0..<1_000).map { _ in UploadID.random() }
        #expect(Set(ids).count == 1_000)
        #expect(!ids.contains(.none))
    }
}
