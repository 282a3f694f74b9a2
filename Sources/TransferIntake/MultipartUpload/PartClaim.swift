import Synchronization
import TransferModel
import TransferStore

/// The right to write some bytes of a multipart upload.
final class PartClaim: Sendable {
    /// Bytes of the upload.
    let range: Range<UInt64>

    /// The number of the connection that has it.
    let connection: Int

    /// Whether it is some of a block only, so that its digest is none of the upload's.
    let isPiece: Bool

    private let multipart: MultipartUpload
    private let sent = Atomic<UInt64>(0)
    let staged: any StagedContent

    init(
        _ range: Range<UInt64>, isPiece: Bool = false, connection: Int, of multipart: MultipartUpload,
        in staged: any StagedContent
    ) {
        (self.range, self.isPiece, self.connection) = (range, isPiece, connection)
        (self.multipart, self.staged) = (multipart, staged)
    }

    /// - Parameter offset: in the part; the bytes must lie in it.
    /// - Throws: `incomplete` when another has taken it over, and what writing throws.
    func write(_ bytes: UnsafeRawBufferPointer, at offset: UInt64) throws(Failure) {
        try multipart.beginWriting(self)
        defer { multipart.endWriting(self) }
        try staged.write(bytes, at: range.lowerBound + offset)
        sent.wrappingAdd(UInt64(bytes.count), ordering: .relaxed)
    }

    /// Bytes that were written, and are no holes.
    var brought: UInt64 { sent.load(ordering: .relaxed) }

    /// The same for zeros that need no room.
    ///
    /// - Parameter range: in the part.
    func clear(_ range: Range<UInt64>) throws(Failure) {
        try multipart.beginWriting(self)
        defer { multipart.endWriting(self) }
        try staged.clear(self.range.lowerBound + range.lowerBound..<self.range.lowerBound + range.upperBound)
    }

    /// All of it is written and verified.
    ///
    /// - Parameter digests: of its blocks, one after the other; of no account where it is a piece of one.
    /// - Throws: `incomplete` when another has taken it over.
    func complete(digests: [UInt8]) throws(Failure) {
        try multipart.complete(self, digests: digests)
    }

    /// No more will be written. What was counts only as far as whole blocks of it are there.
    ///
    /// - Parameter digests: of these, one after the other.
    func withdraw(digests: [UInt8]) {
        multipart.withdraw(self, digests: digests)
    }
}
