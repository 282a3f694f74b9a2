/// A buffer that a connection fills from the front, and the position up to which its bytes were parsed.
package struct ReceiveBuffer {
    private let buffer: BlockBuffer

    /// Received bytes in the buffer, and how many of them were parsed.
    private var filled = 0
    package private(set) var parsed = 0

    /// - Parameter carry: bytes that were received before; no more than fit into the buffer.
    package init(_ buffer: BlockBuffer, carry: [UInt8]) {
        self.buffer = buffer
        UnsafeMutableRawBufferPointer(rebasing: buffer.bytes[..<carry.count]).copyBytes(from: carry)
        filled = carry.count
    }

    /// The free memory behind the received bytes.
    package var free: UnsafeMutableRawBufferPointer {
        UnsafeMutableRawBufferPointer(rebasing: buffer.bytes[filled...])
    }

    package var isFull: Bool { filled == buffer.bytes.count }

    /// Received bytes that are not yet parsed.
    package var unparsed: UnsafeRawBufferPointer { bytes(parsed..<filled) }

    package mutating func received(_ count: Int) { filled += count }

    package mutating func consumed(_ count: Int) { parsed += count }

    /// - Parameter range: relative to the first unparsed byte.
    /// - Returns: the same range, relative to the first byte of the buffer.
    package func placed(_ range: Range<Int>) -> Range<Int> { range.lowerBound + parsed..<range.upperBound + parsed }

    /// - Parameter range: relative to the first byte of the buffer.
    package func bytes(_ range: Range<Int>) -> UnsafeRawBufferPointer {
        UnsafeRawBufferPointer(rebasing: UnsafeRawBufferPointer(buffer.bytes)[range])
    }
}
