import TransferCodec
import TransferIO
import TransferModel
import TransferProtocol

/// Whole frames on their way to the socket, and what the session has to know of them.
///
/// `@unchecked Sendable`: the producer fills it on the pool, then hands it over and never touches it again; so does a
/// compressor after it.
final class OutgoingChunk: @unchecked Sendable {
    /// Bytes of content in one data frame.
    static let payloadSize = FrameCompressor.mostContent

    /// Room beside a payload for its header and for the frames of control around it: the longest path and all recipients fit.
    static let controlRoom = 16 << 10

    static let capacity = payloadSize + controlRoom

    /// Room for a whole payload with its header, a `block` and an `end` or `abort` behind it.
    static let longRoom = payloadSize + 256

    /// Room for an `end` and a byte to spare.
    static let endRoom = 64

    /// Uploads that fail without being sent, before the session is told of them.
    static let mostReports = 256

    private let buffer: BlockBuffer
    private(set) var count = 0

    /// The data frames in it, in order.
    private(set) var dataFrames: [DataFrame] = []

    /// Bytes of content in it.
    private(set) var contentCount = 0

    /// Whether it can be sent: not while it is being compressed. The session's alone.
    var isReady = true

    /// Whether somebody looks at its content, so that it has to stay as it is. The session's alone.
    var isMeasured = false

    /// The governor's, when it decided about this chunk. The session's alone.
    var epoch = 0

    /// Uploads whose `begin` is in here.
    var begun: [PendingUpload] = []

    /// Uploads that the server is asked about in here.
    var asked: [any UploadInParts] = []

    /// Uploads that the server is asked about in here, before they are sent: those of each frame.
    var lookups: [[PendingUpload]] = []

    /// Folders that the server is asked about in here.
    var folders: [AskedFolder] = []

    /// Of those that begin in here, how many the server could have been asked about and wasn't, and their content in bytes.
    var unasked = (count: 0, bytes: UInt64(0))

    /// The digests of longer uploads whose `end` is in here.
    var ended: [(id: UploadID, digest: Digest)] = []

    /// Uploads that end here without an answer of the server.
    var reports: [UploadReport] = []

    /// What these were parts or ends of, and how it was reported.
    var failedInParts: [(any UploadInParts, ResultCode)] = []

    /// Streams that could not be read, and why.
    var unread: [(PendingUpload, Failure)] = []

    /// Uploads that were taken back after they had begun, and why: the server's `aborted` says less.
    var abandoned: [(PendingUpload, Failure)] = []

    /// A stored data frame: where it starts, and where its body is.
    struct DataFrame {
        let start: Int
        let body: Range<Int>
    }

    init(_ buffer: BlockBuffer) {
        self.buffer = buffer
    }

    /// Uploads that count as begun when this is sent.
    var uploads: Int { begun.count + asked.count + lookups.reduce(0) { $0 + $1.count } }

    var isEmpty: Bool { count == 0 }

    var room: Int { buffer.bytes.count - count }

    var filled: UnsafeRawBufferPointer { bytes(0..<count) }

    /// The data frame with the most content.
    var longest: DataFrame? { dataFrames.max { $0.body.count < $1.body.count } }

    /// What is in a data frame.
    func content(_ frame: DataFrame) -> UnsafeRawBufferPointer { bytes(frame.body) }

    func append(_ frame: [UInt8]) {
        UnsafeMutableRawBufferPointer(rebasing: buffer.bytes[count...]).copyBytes(from: frame)
        count += frame.count
    }

    /// The bytes from `offset` behind what is filled.
    func tail(from offset: Int, count length: Int) -> UnsafeMutableRawBufferPointer {
        UnsafeMutableRawBufferPointer(rebasing: buffer.bytes[count + offset..<count + offset + length])
    }

    /// Makes a stored data frame of bytes that already stand behind what is filled.
    ///
    /// - Parameter offset: where they stand, counted from what is filled; at least the extended header's size, or
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

    /// Appends a data frame that only says how many zeros there are.
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
    /// Replaces the bodies of data frames by shorter ones, in place: what follows moves down.
    ///
    /// - Parameters:
    ///   - encoding: what the shorter ones are.
    ///   - shorten: makes a shorter one of a body, at most as long; nothing leaves the frame as it is.
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

    /// Appends bytes that stand further up.
    private func move(_ range: Range<Int>) {
        if range.lowerBound != count { tail(from: 0, count: range.count).copyMemory(from: bytes(range)) }
        count += range.count
    }
}
