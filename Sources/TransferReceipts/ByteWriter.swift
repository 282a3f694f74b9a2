import TransferProtocol

/// Writes into memory that is allocated once: a server writes tens of thousands of receipts a second, and appending to an
/// array byte by byte takes several times as long.
struct ByteWriter {
    private let space: UnsafeMutableBufferPointer<UInt8>
    private(set) var count = 0

    /// - Parameter space: for more than will be written.
    private init(_ space: UnsafeMutableBufferPointer<UInt8>) {
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
        Self.pairs.withUnsafeBufferPointer { pairs in
            for index in 0..<bytes.count {
                place.storeBytes(of: pairs[Int(bytes[index])], toByteOffset: 2 * index, as: UInt16.self)
            }
        }
    }

    /// The two digits of every byte, as they lie in memory.
    private static let pairs: [UInt16] = (0...UInt8.max).map { byte in
        (UInt16(digit(byte >> 4)) << 8 | UInt16(digit(byte & 15))).bigEndian
    }

    private static func digit(_ value: UInt8) -> UInt8 {
        value + (value < 10 ? UInt8(ascii: "0") : UInt8(ascii: "a") - 10)
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
