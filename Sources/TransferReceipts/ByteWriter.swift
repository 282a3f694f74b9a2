import TransferModel

/// Writes into memory that is allocated once: a server writes tens of thousands of receipts a second, and appending to an
/// array byte by byte takes several times as long.
struct ByteWriter {
    private let space: UnsafeMutableBufferPointer<UInt8>
    private(set) var count = 0

    /// - Parameter space: for more than will be written.
    init(_ space: UnsafeMutableBufferPointer<UInt8>) {
        self.space = space
    }

    /// - Parameter capacity: at least what `body` writes.
    static func bytes(capacity: Int, _ body: (inout ByteWriter) -> Void) -> [UInt8] {
        [UInt8](unsafeUninitializedCapacity: capacity) { buffer, count in
            var writer = ByteWriter(buffer)
            body(&writer)
            count = writer.count
        }
    }

    /// Bytes that `append(jsonString:)` writes at most: every one of them as `\u0001`, and the quotes.
    static func longestJSON(of text: String) -> Int { 6 * text.utf8.count + 2 }

    private mutating func reserve(_ length: Int) -> UnsafeMutableBufferPointer<UInt8> {
        // Trap: callers compute the room from the texts that they write, each byte six times.
        precondition(length <= space.count - count, "a text longer than its capacity")
        defer { count += length }
        return UnsafeMutableBufferPointer(rebasing: space[count..<count + length])
    }

    mutating func append(_ text: StaticString) {
        append(UnsafeRawBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount))
    }

    mutating func append(_ bytes: [UInt8]) {
        bytes.withUnsafeBytes { append($0) }
    }

    mutating func append(_ text: String) {
        var text = text
        text.withUTF8 { append(UnsafeRawBufferPointer($0)) }
    }

    /// With zeros in front where the number has fewer digits.
    mutating func append(decimal number: UInt64, digits: Int = 1) {
        var length = 1
        var rest = number / 10
        while rest > 0 || length < digits {
            rest /= 10
            length += 1
        }
        let place = reserve(length)
        rest = number
        for index in (0..<length).reversed() {
            place[index] = UInt8(ascii: "0") + UInt8(truncatingIfNeeded: rest % 10)
            rest /= 10
        }
    }

    mutating func append(hexadecimal bytes: UnsafeRawBufferPointer) {
        let place = UnsafeMutableRawBufferPointer(reserve(2 * bytes.count))
        var index = 0
        while bytes.count - index >= 4 {
            let four = UInt32(bigEndian: bytes.loadUnaligned(fromByteOffset: index, as: UInt32.self))
            place.storeBytes(of: Self.digits(four).bigEndian, toByteOffset: 2 * index, as: UInt64.self)
            index += 4
        }
        while index < bytes.count {
            let pair = UInt16(truncatingIfNeeded: Self.digits(UInt32(bytes[index])))
            place.storeBytes(of: pair.bigEndian, toByteOffset: 2 * index, as: UInt16.self)
            index += 1
        }
    }

    /// The eight digits of four bytes, the first in the highest byte. They are spread over a word and made digits all at
    /// once: half of what is written of a receipt are digits.
    private static func digits(_ bytes: UInt32) -> UInt64 {
        var halves = UInt64(bytes)
        halves = (halves | halves << 16) & 0x0000_FFFF_0000_FFFF
        halves = (halves | halves << 8) & 0x00FF_00FF_00FF_00FF
        halves = (halves | halves << 4) & 0x0F0F_0F0F_0F0F_0F0F
        // 1 in each byte that holds 10 or more; between "9" and "a" are 39 other characters.
        let letters = (halves &+ 0x0606_0606_0606_0606) >> 4 & 0x0101_0101_0101_0101
        return halves &+ 0x3030_3030_3030_3030 &+ letters &* 39
    }

    mutating func append(_ bytes: UnsafeRawBufferPointer) {
        UnsafeMutableRawBufferPointer(reserve(bytes.count)).copyMemory(from: bytes)
    }

    mutating func append(byte: UInt8) {
        reserve(1)[0] = byte
    }

    /// In network byte order, the last `size` bytes of it.
    mutating func append(bigEndian number: UInt64, size: Int) {
        let place = reserve(size)
        for index in 0..<size { place[index] = UInt8(truncatingIfNeeded: number >> (8 * (size - 1 - index))) }
    }

    mutating func append(hexadecimal bytes: [UInt8]) {
        bytes.withUnsafeBytes { append(hexadecimal: $0) }
    }

    /// As a JSON string, with its quotes; what is escaped, and how, is part of the format of receipts.
    mutating func append(jsonString text: String) {
        var text = text
        let isPlain = text.withUTF8 { bytes in
            bytes.allSatisfy { 0x20..<0x7F ~= $0 && $0 != UInt8(ascii: "\"") && $0 != UInt8(ascii: "\\") }
        }
        guard isPlain else { return append(JSONValue.string(text).text) }
        append("\"")
        append(text)
        append("\"")
    }
}
