import Testing

@testable import TransferModel

@Suite struct ByteWriterTests {
    /// Several bytes are written at once, with the result of single bytes.
    @Test func everyByteHasItsDigits() {
        let bytes = Array(UInt8.min...UInt8.max)
        for count in 0...bytes.count {
            let digits = ByteWriter.bytes(capacity: 2 * count) { $0.append(hexadecimal: Array(bytes.suffix(count))) }
            #expect(String(decoding: digits, as: UTF8.self) == String(hexadecimal: bytes.suffix(count)))
        }
    }
}
