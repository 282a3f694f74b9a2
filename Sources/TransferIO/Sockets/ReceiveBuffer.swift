/// A buffer that a connection fills from one end, and how far what is in it was parsed.
package struct ReceiveBuffer {
    private let buffer: BlockBuffer

    /// Bytes of the buffer that were received, and of these, that were parsed.
    private var filled = 0
    package private(set) var parsed = 0

    /// - Parameter carry: what is received already; no more than the buffer holds.
    package init(_ buffer: BlockBuffer, carry: [UInt8]) {
        self.buffer = buffer
        UnsafeMutableRawBufferPointer(rebasing: buffer.bytes[..<carry.count]).copyBytes(from: carry)
        filled = carry.count
    }

    /// Where the next bytes go.
    package var free: UnsafeMutableRawBufferPointer {
        UnsafeMutableRawBufferPointer(rebasing: buffer.bytes[filled...])
    }

    package var isFull: Bool { filled == buffer.bytes.count }

    /// Received bytes that were not parsed yet.
    package var unparsed: UnsafeRawBufferPointer { bytes(parsed..<filled) }

    package mutating func received(_ count: Int) { filled += count }

    package mutating func consumed(_ count: Int) { parsed += count }

    /// - Parameter range: counted from the first unparsed byte.
    /// - Returns: the same, counted from the first byte of all.
    package func placed(_ range: Range<Int>) -> Range<Int> { range.lowerBound + parsed..<range.upperBound + parsed }

    /// - Parameter range: counted from the first byte of all.
    package func bytes(_ range: Range<Int>) -> UnsafeRawBufferPointer {
        UnsafeRawBufferPointer(rebasing: UnsafeRawBufferPointer(buffer.bytes)[range])
    }
}
