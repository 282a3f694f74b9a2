import TransferHTTP
import TransferIntake
import TransferModel
import TransferReceipts
import TransferSystem

/// The answer to an upload that is stored, whatever way it came in.
struct StoredReply {
    /// As its sender has named it.
    let path: String

    /// Whether its sender may know that there was something under the path before.
    var tellsReplacing = false

    /// Of all of it, where they were computed.
    var digests: DigestField?

    /// When it began, in nanoseconds of the monotonic clock.
    let began: Int64

    /// - Parameter receipt: nothing where none is wanted, or there is none.
    func reply(
        _ acknowledgement: Acknowledgement, _ client: Caller, _ receipt: SignedReceipt? = nil
    ) -> HTTPReply {
        let stored = client.clientPath(acknowledgement.path)?.string ?? path
        var fields = [
            ("Location", "/" + PercentEncoding.path(stored.utf8)),
            ("ETag", EntityTag.text(acknowledgement.digest)),
            ("Transfer-Result", acknowledgement.code.name),
            ("Cache-Control", "no-store"),
        ]
        if let digests { fields.append(("Repr-Digest", digests.text)) }
        if let receipt { fields += HTTPReceipt.fields(receipt) }
        let document = UploadDocument(
            source: path, id: client.outer(acknowledgement.id), result: acknowledgement.code, storedPath: stored,
            kind: acknowledgement.kind, size: acknowledgement.size, digest: acknowledgement.digest,
            isDurable: acknowledgement.isDurable, isReplacing: acknowledgement.replaced == .other,
            seconds: Double(monotonicNanoseconds() - began) / 1e9)
        let isNew = acknowledgement.code == .committed && !(tellsReplacing && acknowledgement.replaced != .nothing)
        return HTTPReply(
            isNew ? 201 : 200, fields, document.json.terminated, type: "application/json")
    }
}
