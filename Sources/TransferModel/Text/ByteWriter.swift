/// Writes bytes into memory that is allocated once: a server writes tens of thousands of receipts a second, and
/// appending to an array byte by byte takes several times as long.
package struct ByteWriter {
    @usableFromInline let space: UnsafeMutableBufferPointer<UInt8>
    @usableFromInline var end = 0

    /// - Parameter space: memory for at least all bytes that will be written.
    @inlinable package init(_ space: UnsafeMutableBufferPointer<UInt8>) {
        self.space = space
    }

    /// - Parameter capacity: at least the number of bytes that `body` writes.
    @inlinable package static func bytes(capacity: Int, _ body: (inout ByteWriter) -> Void) -> [UInt8] {
        [UInt8](unsafeUninitializedCapacity: capacity) { buffer, count in
            var writer = ByteWriter(buffer)
            body(&writer)
            count = writer.count
        }
    }

    /// Writes into memory of a string. The bytes must be UTF-8.
    @inlinable package static func string(capacity: Int, _ body: (inout ByteWriter) -> Void) -> String {
        String(unsafeUninitializedCapacity: capacity) { buffer in
            var writer = ByteWriter(buffer)
            body(&writer)
            return writer.count
        }
    }

    /// Number of bytes written so far.
    @inlinable package var count: Int { end }

    /// Most bytes that `append(jsonString:)` writes for a text: each byte as `\u0001`, and the quotes.
    package static func longestJSON(of text: String) -> Int { 6 * text.utf8.count + 2 }

    @inlinable mutating func reserve(_ length: Int) -> UnsafeMutableBufferPointer<UInt8> {
        // Trap: callers compute the capacity from the texts that they write, with six bytes for each byte of a text.
        precondition(length <= space.count - end, "a text longer than its capacity")
        defer { end += length }
        return UnsafeMutableBufferPointer(rebasing: space[end..<end + length])
    }

    @inlinable package mutating func append(_ text: StaticString) {
        append(UnsafeRawBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount))
    }

    @inlinable package mutating func append(_ bytes: [UInt8]) {
        bytes.withUnsafeBytes { append($0) }
    }

    @inlinable package mutating func append(_ text: String) {
        var text = text
        text.withUTF8 { append(UnsafeRawBufferPointer($0)) }
    }

    @inlinable package mutating func append(_ bytes: UnsafeRawBufferPointer) {
        UnsafeMutableRawBufferPointer(reserve(bytes.count)).copyMemory(from: bytes)
    }

    @inlinable package mutating func append(byte: UInt8) {
        reserve(1)[0] = byte
    }

    /// Appends the lowest `size` bytes of a number in network byte order.
    @inlinable package mutating func append(bigEndian number: UInt64, size: Int) {
        let place = reserve(size)
        for index in 0..<size { place[index] = UInt8(truncatingIfNeeded: number >> (8 * (size - 1 - index))) }
    }

    /// Appends a number, with leading zeros if it has fewer than `digits` digits.
    @inlinable package mutating func append(decimal number: UInt64, digits: Int = 1) {
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

    @inlinable package mutating func append(hexadecimal bytes: UnsafeRawBufferPointer) {
        Hexadecimal.write(bytes, to: UnsafeMutableRawBufferPointer(reserve(2 * bytes.count)))
    }

    @inlinable package mutating func append(hexadecimal bytes: [UInt8]) {
        bytes.withUnsafeBytes { append(hexadecimal: $0) }
    }

    /// Appends a JSON string with its quotes. The format of receipts determines which characters are escaped, and how.
    package mutating func append(jsonString text: String) {
        guard JSONValue.isPlain(text) else { return append(JSONValue.string(text).text) }
        append("\"")
        append(text)
        append("\"")
    }
}
