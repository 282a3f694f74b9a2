import TransferKeys
import TransferModel

/// The fields of a signed receipt as read, not yet validated. Unreadable ones are nil.
struct ReceiptFields {
    var version: UInt64 = 0
    var number: UInt64 = 0
    var uploadID: UploadID?
    var path: String?
    var kind: ContentKind?
    var size: UInt64 = 0
    var digest: Digest?
    var result: ResultCode?
    var sender: String?
    var time: ReceiptTime?
    var server: Bytes32?
    var proof = ReceiptProofFields()
}

extension Receipt {
    /// - Throws: `malformed` or `unknownVersion`.
    fileprivate init(_ fields: ReceiptFields) throws(ReceiptFault) {
        guard fields.version == UInt64(Self.version) else { throw .unknownVersion }
        guard let uploadID = fields.uploadID, uploadID != .none else { throw .malformed("no upload id") }
        guard let kind = fields.kind else { throw .malformed("an unknown kind") }
        guard let result = fields.result, Self.results.contains(result) else {
            throw .malformed("a result that is not a success")
        }
        guard let time = fields.time else { throw .malformed("no time") }
        guard let digest = fields.digest,
            digest.algorithm == digest.algorithm.function.algorithm(forSize: fields.size)
        else { throw .malformed("no digest for content of this size") }
        guard let sender = fields.sender, sender.utf8.count <= Limits.sender else { throw .malformed("no sender") }
        guard let server = fields.server.map(ServerKey.init) else { throw .malformed("no key") }
        guard let text = fields.path, let path = try? RelativePath(text) else { throw .malformed("no path") }
        self.init(
            number: fields.number, uploadID: uploadID, path: path, kind: kind, size: fields.size, digest: digest,
            result: result, sender: sender, time: time, server: server)
    }
}

extension SignedReceipt {
    /// - Throws: `malformed` or `unknownVersion`.
    ///
    /// - Parameter ending: ending of the previous receipt's text.
    convenience init(_ fields: ReceiptFields, _ ending: inout ReceiptEnding?) throws(ReceiptFault) {
        let receipt = try Receipt(fields)
        let proof = try ReceiptProof(fields.proof, leaves: Limits.receiptBatch, height: Self.longestInclusion)
        self.init(receipt, text: receipt.text(&ending), proof)
    }
}
