import TransferProtocol

extension [UInt8] {
    mutating func append(_ text: StaticString) {
        append(contentsOf: UnsafeBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount))
    }

    mutating func append(decimal number: UInt64) {
        append(decimal: number, digits: 1)
    }

    /// With zeros in front where the number has fewer digits.
    mutating func append(decimal number: UInt64, digits: Int) {
        let start = count
        var rest = number
        repeat {
            append(UInt8(ascii: "0") + UInt8(truncatingIfNeeded: rest % 10))
            rest /= 10
        } while rest > 0 || count - start < digits
        self[start...].reverse()
    }

    mutating func append(hexadecimal bytes: UnsafeRawBufferPointer) {
        for byte in bytes {
            append(Self.digit(byte >> 4))
            append(Self.digit(byte & 15))
        }
    }

    mutating func append(hexadecimal bytes: [UInt8]) {
        bytes.withUnsafeBytes { append(hexadecimal: $0) }
    }

    /// As a JSON string, with its quotes; what is escaped, and how, is part of the format of receipts.
    mutating func append(jsonString text: String) {
        guard text.utf8.contains(where: { $0 < 0x20 || $0 >= 0x7F || $0 == 0x22 || $0 == 0x5C }) else {
            append(UInt8(ascii: "\""))
            append(contentsOf: text.utf8)
            append(UInt8(ascii: "\""))
            return
        }
        append(contentsOf: JSONValue.string(text).text.utf8)
    }

    private static func digit(_ value: UInt8) -> UInt8 {
        value < 10 ? UInt8(ascii: "0") + value : UInt8(ascii: "a") + value - 10
    }
}
