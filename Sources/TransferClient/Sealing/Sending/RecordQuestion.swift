import TransferCodec
import TransferModel
import TransferProtocol
import TransferSystem

/// Asks whether the server still knows a sealed upload that it has acknowledged. If not, the file is sealed again with
/// new secrets, because the upload's secrets were removed.
final class RecordQuestion: UploadInParts {
    let whole: PendingUpload
    private let record: SealingRecord
    private let function: DigestFunction
    private let hasEnded = Locked(false)

    init(_ whole: PendingUpload, _ record: SealingRecord, function: DigestFunction) {
        (self.whole, self.record, self.function) = (whole, record, function)
    }

    var knownSize: UInt64? { record.sealedSize }

    var isOver: Bool { hasEnded.withLock { $0 } }

    var hasMoreParts: Bool { false }

    func nextPart(_ sharing: PartSharing) -> PendingUpload? { nil }

    func reader(of range: Range<UInt64>) throws(Failure) -> ContentReader { ContentReader(size: 0) }

    func readerOfEnd() throws(Failure) -> ContentReader { ContentReader(size: record.sealedSize) }

    func keep(_ digests: [UInt8], of range: Range<UInt64>) {}

    var digest: Digest { BlockTree.root([], function) }

    func progressed(_ part: UploadID, _ bytes: UInt64) -> UInt64 { 0 }

    func staged(_ part: PendingUpload) -> PendingUpload? { nil }

    func restart() {}

    func compare(_ have: Have) throws(Failure) -> UInt64 { 0 }

    /// The server does not know the upload.
    func answered() throws(Failure) -> PendingUpload? {
        whole.isUnknown = true
        return whole
    }

    func finish() -> Bool {
        hasEnded.withLock { hasEnded in
            defer { hasEnded = true }
            return !hasEnded
        }
    }
}
