import TransferConnection
import TransferIO

/// Answers on their way to a client, in memory of their own: content is read into its place and not copied on the way to the
/// socket.
///
/// `@unchecked Sendable`: the pool fills it, then hands it over and never touches it again.
final class ContentChunk: OutboundChunk, @unchecked Sendable {
    private let bytes: UnsafeMutableRawBufferPointer
    /// Whose memory it is; nothing for memory of its own.
    private let buffer: BlockBuffer?

    private(set) var count = 0

    /// - Parameters:
    ///   - size: bytes that it can hold.
    ///   - pool: where its memory comes from, if there is enough.
    init(size: Int, from pool: BufferPool) {
        buffer = size <= pool.size ? pool.takeNow() : nil
        bytes = buffer.map { .init(rebasing: $0.bytes[..<size]) } ?? .allocate(byteCount: size, alignment: 64)
    }

    deinit {
        if buffer == nil { bytes.deallocate() }
    }

    var filled: UnsafeRawBufferPointer { UnsafeRawBufferPointer(rebasing: bytes[..<count]) }

    /// Bytes that it can still take.
    var room: Int { bytes.count - count }

    func append(_ more: [UInt8]) {
        // Trap: the worker begins a message only where there is room for the longest head.
        precondition(more.count <= room, "a chunk is too small for a head")
        UnsafeMutableRawBufferPointer(rebasing: bytes[count...]).copyBytes(from: more)
        count += more.count
    }

    /// Takes back what came last.
    func shorten(to count: Int) {
        // Trap: the caller gives what `count` was before.
        precondition(count <= self.count, "a chunk only becomes shorter")
        self.count = count
    }

    /// Appends what `body` puts into memory of that size.
    ///
    /// - Parameter body: returns how many bytes it has put there. If these are fewer, they are not added.
    /// - Returns: the content; nothing if it was less.
    func append<E: Error>(
        _ length: Int, _ body: (UnsafeMutableRawBufferPointer) throws(E) -> Int
    ) throws(E) -> UnsafeRawBufferPointer? {
        // Trap: the worker takes no more than `room`.
        precondition(length <= room, "a chunk is too small for its content")
        let place = UnsafeMutableRawBufferPointer(rebasing: bytes[count..<count + length])
        guard try body(place) == length else { return nil }
        count += length
        return UnsafeRawBufferPointer(place)
    }
}
