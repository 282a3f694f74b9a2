import TransferModel
import TransferStore

/// The right to append to an upload, of one request. A newer request for the upload takes it, and waits until this one is not
/// just at it.
final class AppendClaim: Sendable {
    private let claim: PartClaim
    private let multipart: MultipartUpload
    private let appendUpload: AppendUpload

    init(_ claim: PartClaim, on multipart: MultipartUpload, _ appendUpload: AppendUpload) {
        (self.claim, self.multipart, self.appendUpload) = (claim, multipart, appendUpload)
    }

    /// - Throws: `incomplete` when another has taken it over, and what `body` throws.
    func use<T>(_ body: (AppendUpload) throws(Failure) -> T) throws(Failure) -> T {
        try multipart.beginWriting(claim)
        defer { multipart.endWriting(claim) }
        return try body(appendUpload)
    }

    /// Ends the upload, and hands out what it holds.
    ///
    /// - Throws: `incomplete` when another has taken it over; `busy` when it is being completed.
    func finish() throws(Failure) -> (staged: any StagedContent, digest: Digest) {
        try multipart.finishAppend(claim, appendUpload)
    }

    /// Ends it.
    func withdraw() { multipart.withdraw(claim, digests: []) }
}
