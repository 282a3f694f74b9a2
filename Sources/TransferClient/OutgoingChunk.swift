import TransferIO
import TransferProtocol

/// Whole frames on their way to the socket, and what the session has to know of them.
///
/// `@unchecked Sendable`: the producer fills it on the pool, then hands it over and never touches it again.
final class OutgoingChunk: @unchecked Sendable {
    /// Bytes of content in one data frame.
    static let payloadSize = 256 << 10

    /// Room beside a payload for its header and for the frames of control around it.
    static let controlRoom = 8 << 10

    static let capacity = payloadSize + controlRoom

    /// Room for a whole payload with its header, a `block` and an `end` or `abort` behind it.
    static let longRoom = payloadSize + 256

    /// Room for an `end` and a byte to spare.
    static let endRoom = 64

    /// Uploads that fail without being sent, before the session is told of them.
    static let mostReports = 256

    private let buffer: BlockBuffer
    private(set) var count = 0

    /// Uploads whose `begin` is in here.
    var begun: [PendingUpload] = []

    /// Uploads that end here without an answer of the server.
    var reports: [UploadReport] = []

    /// Uploads that were taken back after they had begun, and why: the server's `aborted` says less.
    var abandoned: [(PendingUpload, LocalFailure)] = []

    init(_ buffer: BlockBuffer) {
        self.buffer = buffer
    }

    var isEmpty: Bool { count == 0 }

    var room: Int { buffer.bytes.count - count }

    var filled: UnsafeRawBufferPointer { UnsafeRawBufferPointer(rebasing: buffer.bytes[..<count]) }

    func append(_ frame: [UInt8]) {
        UnsafeMutableRawBufferPointer(rebasing: buffer.bytes[count...]).copyBytes(from: frame)
        count += frame.count
    }

    /// The bytes from `offset` behind what is filled.
    func tail(from offset: Int, count length: Int) -> UnsafeMutableRawBufferPointer {
        UnsafeMutableRawBufferPointer(rebasing: buffer.bytes[count + offset..<count + offset + length])
    }

    /// Makes a data frame of bytes that already stand behind what is filled.
    ///
    /// - Parameter offset: where they stand, counted from what is filled; at least the extended header's size, or
    ///   exactly the size of the header that they need.
    func appendData(_ encoding: BodyEncoding, offset: Int, length: Int) {
        let size = FrameHeader.encodedSize(bodyLength: length)
        if size != offset {
            tail(from: size, count: length).copyMemory(from: UnsafeRawBufferPointer(tail(from: offset, count: length)))
        }
        var header: [UInt8] = []
        header.reserveCapacity(size)
        FrameHeader(.data, encoding: encoding, bodyLength: length).encode(into: &header)
        append(header)
        count += length
    }
}
