import TransferCodec
import TransferIO
import TransferModel
import TransferProtocol

/// Complete frames to send, and what the session must know about them.
///
/// `@unchecked Sendable`: the producer fills it on the pool, then hands it over and does not use it again; a compressor
/// after it does the same.
final class OutgoingChunk: @unchecked Sendable {
    /// The most bytes of content in one data frame.
    static let payloadSize = FrameCompressor.mostContent

    /// The room besides a payload, for its header and for control frames around it: the longest path and all recipients
    /// fit.
    static let controlRoom = 16 << 10

    static let capacity = payloadSize + controlRoom

    /// The bytes for a whole payload with its header, and a `block` and an `end` or `abort` after it.
    static let longRoom = payloadSize + 256

    /// The bytes for an `end`, with some to spare.
    static let endRoom = 64

    /// The most reports on unsent uploads in one chunk.
    static let mostReports = 256

    private let buffer: BlockBuffer
    private(set) var count = 0

    /// The data frames of the chunk, in order.
    private(set) var dataFrames: [DataFrame] = []

    /// The bytes of content in the chunk.
    private(set) var contentCount = 0

    /// Whether it can be sent; false while it is being compressed. Only the session uses it.
    var isReady = true

    /// Whether its content is being measured, so that it must not change. Only the session uses it.
    var isMeasured = false

    /// The epoch of the governor when it decided about this chunk. Only the session uses it.
    var epoch = 0

    /// The uploads whose `begin` is in the chunk.
    var begun: [PendingUpload] = []

    /// The uploads in parts about which the chunk asks the server.
    var asked: [any UploadInParts] = []

    /// The uploads that the chunk looks up, by frame.
    var lookups: [[PendingUpload]] = []

    /// The folders about which the chunk asks the server.
    var folders: [AskedFolder] = []

    /// The uploads that begin in the chunk without a lookup, although they could have been looked up: their number, and
    /// bytes of content.
    var unasked = (count: 0, bytes: UInt64(0))

    /// The digests of longer uploads whose `end` is in the chunk.
    var ended: [(id: UploadID, digest: Digest)] = []

    /// The reports on uploads that have ended without an answer of the server.
    var reports: [UploadReport] = []

    /// The uploads in parts to which the uploads of `reports` belong, with the reported codes.
    var failedInParts: [(any UploadInParts, ResultCode)] = []

    /// The streams that could not be read, with the reasons.
    var unread: [(PendingUpload, Failure)] = []

    /// The uploads that were aborted after they had begun, with the reasons, which the server's `aborted` does not
    /// repeat.
    var abandoned: [(PendingUpload, Failure)] = []

    /// An uncompressed data frame: where it starts, and where its body is.
    struct DataFrame {
        let start: Int
        let body: Range<Int>
    }

    init(_ buffer: BlockBuffer) {
        self.buffer = buffer
    }

    /// The number of uploads that count as begun when the chunk is sent.
    var uploads: Int { begun.count + asked.count + lookups.reduce(0) { $0 + $1.count } }

    var isEmpty: Bool { count == 0 }

    var room: Int { buffer.bytes.count - count }

    var filled: UnsafeRawBufferPointer { bytes(0..<count) }

    /// The data frame with the most content.
    var longest: DataFrame? { dataFrames.max { $0.body.count < $1.body.count } }

    /// The content of a data frame.
    func content(_ frame: DataFrame) -> UnsafeRawBufferPointer { bytes(frame.body) }

    func append(_ frame: [UInt8]) {
        UnsafeMutableRawBufferPointer(rebasing: buffer.bytes[count...]).copyBytes(from: frame)
        count += frame.count
    }

    /// The free bytes that begin `offset` bytes after the filled ones.
    func tail(from offset: Int, count length: Int) -> UnsafeMutableRawBufferPointer {
        UnsafeMutableRawBufferPointer(rebasing: buffer.bytes[count + offset..<count + offset + length])
    }

    /// Makes an uncompressed data frame of bytes that were already written behind the filled ones.
    ///
    /// - Parameter offset: the position of the bytes after the filled ones; at least the size of an extended header, or
    ///   exactly the size of the header that they need.
    func appendData(offset: Int, length: Int) {
        let size = FrameHeader.encodedSize(bodyLength: length)
        if size != offset {
            tail(from: size, count: length).copyMemory(from: UnsafeRawBufferPointer(tail(from: offset, count: length)))
        }
        let start = count
        appendHeader(.stored, length)
        dataFrames.append(DataFrame(start: start, body: count..<count + length))
        contentCount += length
        count += length
    }

    /// Appends a data frame that only states the number of zeros.
    func append(_ hole: Hole) {
        var frame: [UInt8] = []
        hole.encode(into: &frame)
        append(frame)
    }

    private func appendHeader(_ encoding: BodyEncoding, _ length: Int) {
        var header: [UInt8] = []
        header.reserveCapacity(FrameHeader.extendedSize)
        FrameHeader(.data, encoding: encoding, bodyLength: length).encode(into: &header)
        append(header)
    }

    private func bytes(_ range: Range<Int>) -> UnsafeRawBufferPointer {
        UnsafeRawBufferPointer(rebasing: UnsafeRawBufferPointer(buffer.bytes)[range])
    }
}

// MARK: Compression

extension OutgoingChunk {
    /// Replaces the bodies of data frames by shorter ones in place, and moves the following bytes.
    ///
    /// - Parameters:
    ///   - encoding: the encoding of the shorter bodies.
    ///   - shorten: returns a body that is at most as long; nil to leave the frame unchanged.
    func compress(as encoding: BodyEncoding, _ shorten: (UnsafeRawBufferPointer) -> UnsafeRawBufferPointer?) {
        let (frames, end) = (dataFrames, count)
        var taken = 0
        count = 0
        dataFrames = []
        for frame in frames {
            move(taken..<frame.start)
            if let shorter = shorten(bytes(frame.body)) {
                appendHeader(encoding, shorter.count)
                tail(from: 0, count: shorter.count).copyMemory(from: shorter)
                count += shorter.count
            } else {
                move(frame.start..<frame.body.upperBound)
            }
            taken = frame.body.upperBound
        }
        move(taken..<end)
    }

    /// Appends bytes from a later position.
    private func move(_ range: Range<Int>) {
        if range.lowerBound != count { tail(from: 0, count: range.count).copyMemory(from: bytes(range)) }
        count += range.count
    }
}
