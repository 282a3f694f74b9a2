import TransferKeys
import TransferModel

/// The fields of a signed delivery receipt as read, not yet validated. Unreadable ones are nil.
struct DeliveryFields {
    var version: UInt64 = 0
    var delivery: UploadID?
    var to = ""
    var from = ""
    var name = ""
    var kind: ContentKind?
    var size: UInt64 = 0
    var digest: Digest?
    var time: ReceiptTime?
    var recipient: Bytes32?
    var server: Bytes32?
    var proof = ReceiptProofFields()
}

extension DeliveryReceipt {
    /// - Throws: `malformed` for an invalid field.
    fileprivate init(_ fields: DeliveryFields) throws(ReceiptFault) {
        guard let delivery = fields.delivery else { throw .malformed("no delivery ID") }
        guard let name = try? RelativePath(fields.name) else { throw .malformed("no name") }
        guard let kind = fields.kind else { throw .malformed("an unknown kind") }
        guard let digest = fields.digest else { throw .malformed("no digest") }
        guard let time = fields.time else { throw .malformed("no time") }
        guard let recipient = fields.recipient, let server = fields.server else { throw .malformed("no key") }
        try self.init(
            delivery: delivery, to: fields.to, from: fields.from, name: name, kind: kind, size: fields.size,
            digest: digest, time: time, recipient: PublicKey(recipient), server: ServerKey(server))
    }
}

extension SignedDeliveryReceipt {
    /// Reads only what `json` writes: members in another order, spaces and other spellings are refused, so that every
    /// reader sees what was signed. Verifies nothing.
    ///
    /// - Throws: `malformed` or `unknownVersion`.
    package init(json line: [UInt8]) throws(ReceiptFault) {
        guard line.count <= Self.longestLine else { throw .malformed("a line of \(line.count) bytes") }
        var scanner = ReceiptScanner(line)
        let fields = try scanner.deliveryFields()
        let proof = try ReceiptProof(fields.proof, leaves: DeliveryBatch.most, height: Self.longestInclusion)
        self.init(try DeliveryReceipt(fields), proof)
        guard jsonBytes == line else { throw .malformed("not in the canonical form") }
    }
}
