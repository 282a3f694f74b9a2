import TransferModel
package import TransferReceipts

extension Delivery {
    /// What the recipient has signed of it, where there is a receipt and it is good: the recipient's signature fits, and it says
    /// what the server says of this delivery. Whether the key is the recipient's, only who knows that one can say.
    ///
    /// - Throws: `ReceiptFault` for a receipt that is no good, or of something else.
    package func verifiedReceipt() throws(ReceiptFault) -> SignedDeliveryReceipt? {
        guard let receipt else { return nil }
        let signed = try SignedDeliveryReceipt(json: receipt)
        try ReceiptVerifier().verify(signed)
        let said = signed.receipt
        guard said.delivery == id, said.to.hasSameBytes(as: person) else { throw .otherUpload("another delivery") }
        guard said.size == size, said.digest == digest, said.name.string.hasSameBytes(as: name) else {
            throw .otherUpload("other content, or another name")
        }
        return signed
    }
}
