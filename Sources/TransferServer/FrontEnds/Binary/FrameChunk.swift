import TransferConnection
import TransferIO
import TransferModel
import TransferProtocol

/// Frames on their way to a client, in memory of their own: content is read into its place and not copied on the way to the
/// socket.
///
/// `@unchecked Sendable`: the pool fills it, then hands it over and never touches it again.
package final class FrameChunk: OutboundChunk, @unchecked Sendable {
    private let bytes: UnsafeMutableRawBufferPointer
    /// Whose memory it is; nothing for memory of its own.
    private let buffer: BlockBuffer?
    private var scratch: [UInt8] = []

    package private(set) var count = 0

    /// Bytes of content in data frames, as it is in files.
    private(set) var contentCount = 0

    /// The turn of the thread that fills the chunk; nil if the chunk may be filled without a time limit.
    var turn: Turn?

    /// Where the data frame begins that was appended last.
    private var lastData = 0

    /// Bytes for what goes around content: headers, the beginning of the answer, a digest, and an end that may have a
    /// sentence (`Limits.text`).
    static let overhead = 2 << 10

    /// - Parameters:
    ///   - room: bytes of content that it has to hold.
    ///   - pool: where its memory comes from, if there is enough: to take new memory for each chunk is to have the kernel
    ///     clear it.
    init(room: Int, from pool: BufferPool? = nil) {
        let size = room + Self.overhead
        buffer = pool.flatMap { size <= $0.size ? $0.takeNow() : nil }
        bytes = buffer.map { .init(rebasing: $0.bytes[..<size]) } ?? .allocate(byteCount: size, alignment: 64)
    }

    deinit {
        if buffer == nil { bytes.deallocate() }
    }

    package var filled: UnsafeRawBufferPointer { UnsafeRawBufferPointer(rebasing: bytes[..<count]) }

    /// Bytes that fit beside a message or two.
    var room: Int { max(0, bytes.count - count - Self.overhead) }

    /// Whether a message of any kind still fits, and its turn is not over.
    var takesMessage: Bool {
        bytes.count - count >= Limits.controlBody + FrameHeader.shortSize && turn?.isOver != true
    }

    /// - Precondition: it fits.
    func append(_ message: Message) {
        scratch.removeAll(keepingCapacity: true)
        message.encode(into: &scratch)
        append(scratch)
    }

    private func append(_ more: [UInt8]) {
        // Trap: `room` and `takesMessage` leave place for what is appended, whatever the client asks for.
        precondition(more.count <= bytes.count - count, "a chunk is too small for a message")
        UnsafeMutableRawBufferPointer(rebasing: bytes[count...]).copyBytes(from: more)
        count += more.count
    }

    /// Takes back what came last.
    func shorten(to count: Int) {
        // Trap: the caller gives what `count` was before.
        precondition(count <= self.count, "a chunk only becomes shorter")
        self.count = count
    }

    /// Appends a data frame whose content `body` puts into the memory that it gets.
    ///
    /// - Parameter body: returns how much it has put there. If that is less, the frame is not added.
    /// - Returns: the content; nothing if it was less.
    func appendData<E: Error>(
        _ length: Int, _ body: (UnsafeMutableRawBufferPointer) throws(E) -> Int
    ) throws(E) -> UnsafeRawBufferPointer? {
        let start = count
        scratch.removeAll(keepingCapacity: true)
        FrameHeader(.data, bodyLength: length).encode(into: &scratch)
        append(scratch)
        // Trap: the caller takes no more than `room`.
        precondition(length <= bytes.count - count, "a chunk is too small for its content")
        let place = UnsafeMutableRawBufferPointer(rebasing: bytes[count..<count + length])
        guard try body(place) == length else {
            count = start
            return nil
        }
        count += length
        contentCount += length
        lastData = start
        return UnsafeRawBufferPointer(place)
    }

    /// Appends a data frame that only says how many zeros there are.
    func append(_ hole: Hole) {
        scratch.removeAll(keepingCapacity: true)
        hole.encode(into: &scratch)
        append(scratch)
    }

    /// Puts a shorter body in the place of that of the data frame that was just appended.
    ///
    /// - Parameter body: outside this memory.
    func replaceData(by body: UnsafeRawBufferPointer, _ encoding: BodyEncoding) {
        let end = count
        count = lastData
        scratch.removeAll(keepingCapacity: true)
        FrameHeader(.data, encoding: encoding, bodyLength: body.count).encode(into: &scratch)
        append(scratch)
        // Trap: a compressor saves a part of the content, or gives nothing.
        precondition(count + body.count <= end, "a body that is not shorter")
        UnsafeMutableRawBufferPointer(rebasing: bytes[count...]).copyMemory(from: body)
        count += body.count
    }
}
