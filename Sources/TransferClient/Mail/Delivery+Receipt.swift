import TransferModel
package import TransferReceipts

extension Delivery {
    /// The receipt that the recipient signed; nil without one. The signature is verified, and the contents are compared
    /// with the server's description of this delivery. Only a caller that knows the recipient's key can decide whether
    /// the signing key is theirs.
    ///
    /// - Throws: `ReceiptFault` if the receipt is invalid or belongs to another delivery.
    package func verifiedReceipt() throws(ReceiptFault) -> SignedDeliveryReceipt? {
        guard let receipt else { return nil }
        let signed = try SignedDeliveryReceipt(json: receipt)
        try ReceiptVerifier().verify(signed)
        let said = signed.receipt
        guard said.delivery == id, said.to.hasSameBytes(as: person) else { throw .otherUpload("another delivery") }
        guard said.size == size, said.digest == digest, said.name.string.hasSameBytes(as: name) else {
            throw .otherUpload("other content or another name")
        }
        return signed
    }
}
