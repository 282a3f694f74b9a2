import TransferConnection
import TransferIO
import TransferModel
import TransferProtocol

/// Answers on their way to a client, in their own memory: content is read into place and is not copied again before the socket. Workers
/// fill chunks; `WireConnection` sends them.
///
/// `@unchecked Sendable`: the pool fills a chunk, then hands it over and never touches it again.
package final class AnswerChunk: OutboundChunk, @unchecked Sendable {
    private let bytes: UnsafeMutableRawBufferPointer
    /// The buffer that the memory belongs to; nil if the chunk has allocated it.
    private let buffer: BlockBuffer?
    /// Bytes that `room` does not count, for headers and messages around content.
    private let reserve: Int

    package private(set) var count = 0

    /// Bytes of content in data frames, before compression.
    private(set) var contentCount = 0

    /// The turn of the thread that fills the chunk; nil if the chunk may be filled without a time limit.
    var turn: Turn?

    /// Offset of the last data frame.
    private var lastData = 0
    private var scratch: [UInt8] = []

    /// - Parameters:
    ///   - room: bytes that the chunk has to hold.
    ///   - reserve: bytes in addition, which `room` does not count.
    ///   - pool: provides the memory, if it has a free buffer that is large enough. The kernel would have to clear newly allocated memory
    ///     for each chunk.
    init(room: Int, reserve: Int = 0, from pool: BufferPool? = nil) {
        let size = room + reserve
        self.reserve = reserve
        buffer = pool.flatMap { size <= $0.size ? $0.takeNow() : nil }
        bytes = buffer.map { .init(rebasing: $0.bytes[..<size]) } ?? .allocate(byteCount: size, alignment: 64)
    }

    deinit {
        if buffer == nil { bytes.deallocate() }
    }

    package var filled: UnsafeRawBufferPointer { UnsafeRawBufferPointer(rebasing: bytes[..<count]) }

    /// Bytes of content that still fit.
    var room: Int { max(0, bytes.count - count - reserve) }

    func append(_ more: [UInt8]) {
        // Trap: `room` and `takesMessage` leave place for what is appended, whatever the client asks for.
        precondition(more.count <= bytes.count - count, "a chunk is too small for a message")
        UnsafeMutableRawBufferPointer(rebasing: bytes[count...]).copyBytes(from: more)
        count += more.count
    }

    /// Removes what was appended last.
    ///
    /// - Parameter count: an earlier value of the property `count`.
    func shorten(to count: Int) {
        // Trap: the caller gives what `count` was before.
        precondition(count <= self.count, "a chunk only becomes shorter")
        self.count = count
    }

    /// Appends what `body` writes into memory of the given size.
    ///
    /// - Parameter body: returns how many bytes it has written. If that is less than `length`, nothing is added.
    /// - Returns: the content; nil if `body` wrote less.
    func append<E: Error>(
        _ length: Int, _ body: (UnsafeMutableRawBufferPointer) throws(E) -> Int
    ) throws(E) -> UnsafeRawBufferPointer? {
        // Trap: the caller takes no more than `room`.
        precondition(length <= bytes.count - count, "a chunk is too small for its content")
        let place = UnsafeMutableRawBufferPointer(rebasing: bytes[count..<count + length])
        guard try body(place) == length else { return nil }
        count += length
        return UnsafeRawBufferPointer(place)
    }
}

// MARK: Frames

extension AnswerChunk {
    /// Bytes for what surrounds content: headers, the beginning of the answer, a digest, and an end that may have a sentence
    /// (`Limits.text`).
    private static let aroundContent = 2 << 10

    /// Makes a chunk of frames.
    ///
    /// - Parameter room: bytes of content that the chunk has to hold.
    convenience init(frames room: Int, from pool: BufferPool? = nil) {
        self.init(room: room, reserve: Self.aroundContent, from: pool)
    }

    /// Whether a message of any kind still fits, and the turn is not over.
    var takesMessage: Bool {
        bytes.count - count >= Limits.controlBody + FrameHeader.shortSize && turn?.isOver != true
    }

    /// - Precondition: the message fits; see `takesMessage`.
    func append(_ message: Message) {
        encode { message.encode(into: &$0) }
    }

    /// Appends a data frame that has only the number of zeros.
    func append(_ hole: Hole) {
        encode { hole.encode(into: &$0) }
    }

    private func encode(_ body: (inout [UInt8]) -> Void) {
        scratch.removeAll(keepingCapacity: true)
        body(&scratch)
        append(scratch)
    }

    /// Appends a data frame whose content `body` writes.
    ///
    /// - Parameter body: returns how many bytes it has written. If that is less than `length`, or if it throws, the frame is not added.
    /// - Returns: the content; nil if `body` wrote less.
    func appendData<E: Error>(
        _ length: Int, _ body: (UnsafeMutableRawBufferPointer) throws(E) -> Int
    ) throws(E) -> UnsafeRawBufferPointer? {
        let start = count
        encode { FrameHeader(.data, bodyLength: length).encode(into: &$0) }
        var isWhole = false
        defer { if !isWhole { count = start } }
        guard let content = try append(length, body) else { return nil }
        isWhole = true
        contentCount += length
        lastData = start
        return content
    }

    /// Replaces the body of the data frame that was just appended by a shorter one.
    ///
    /// - Parameter body: memory outside this chunk.
    func replaceData(by body: UnsafeRawBufferPointer, _ encoding: BodyEncoding) {
        let end = count
        count = lastData
        encode { FrameHeader(.data, encoding: encoding, bodyLength: body.count).encode(into: &$0) }
        // Trap: a compressor saves a part of the content, or gives nothing.
        precondition(count + body.count <= end, "a body that is not shorter")
        UnsafeMutableRawBufferPointer(rebasing: bytes[count...]).copyMemory(from: body)
        count += body.count
    }
}
