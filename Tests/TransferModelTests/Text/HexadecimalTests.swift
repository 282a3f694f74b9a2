import Testing

@testable import TransferModel

@Suite struct HexadecimalTests {
    /// Several bytes are written at once, with the result of single bytes.
    @Test func everyByteHasItsDigits() {
        let bytes = Array(UInt8.min...UInt8.max)
        for count in 0...bytes.count {
            let some = bytes.suffix(count)
            let digits = some.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
            #expect(String(hexadecimal: some) == digits)
            #expect(String(hexadecimal: some.lazy.map { $0 }) == digits)
            #expect([UInt8](hexadecimal: digits) == Array(some))
            #expect([UInt8](hexadecimal: digits.uppercased()) == Array(some))
        }
    }

    @Test(
        arguments: [
            (0, 1, "0"), (0, 4, "0000"), (0x9, 1, "9"), (0xA, 2, "0a"), (0x1B, 1, "1b"), (0x202E, 4, "202e"),
            (0x10FFFF, 4, "10ffff"), (.max, 1, "ffffffff"), (.max, 8, "ffffffff"),
        ] as [(UInt32, Int, String)]) func number(_ number: UInt32, _ digits: Int, _ text: String)
    {
        #expect(String(hexadecimal: number, digits: digits) == text)
        #expect(Hexadecimal.number(text.utf8) == UInt64(number))
    }

    @Test func sixteenDigitsFillANumber() {
        #expect(Hexadecimal.number("FFFFffffFFFFffff".utf8) == .max)
        #expect(Hexadecimal.number("0FFFFffffFFFFffff".utf8) == nil)
    }

    @Test(arguments: ["", "g", "+1", "-1", " 1", "1 ", "0x1", "１", "@", "`", "/", ":", "G"])
    func nothingElse(_ text: String) {
        #expect(Hexadecimal.number(text.utf8) == nil)
        #expect(text.isEmpty || [UInt8](hexadecimal: text + "0") == nil)
    }

    @Test func halfAByteIsNone() { #expect([UInt8](hexadecimal: "abc") == nil) }
}
