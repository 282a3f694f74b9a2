import TransferKeys
package import TransferModel

/// Makes the receipts of a signed batch from the client's knowledge of the uploads, and verifies them with a single
/// check of the signature.
///
/// It belongs to one task at a time.
package final class BatchVerifier {
    private let server: ServerKey
    private let hasher = TreeHasher()

    /// - Parameter server: the server that must have signed.
    package init(_ server: ServerKey) {
        self.server = server
    }

    /// - Parameters:
    ///   - signedBatch: the common part, from the server.
    ///   - uploads: `signedBatch.count` of them, in the order of their results.
    /// - Returns: a verified receipt for each upload.
    /// - Throws: `notSigned` if the server has signed something else; `unknownVersion`, `malformed`.
    package func verify(
        _ signedBatch: SignedBatch, of uploads: [ReceiptIssuer.Acknowledged]
    ) throws(ReceiptFault) -> [SignedReceipt] {
        guard signedBatch.version == SignedBatch.receiptVersion else { throw .unknownVersion }
        guard let time = ReceiptTime(milliseconds: signedBatch.time) else { throw .malformed("no time") }
        guard !uploads.isEmpty, uploads.count == signedBatch.count else {
            throw .malformed("\(signedBatch.count) for \(uploads.count) uploads")
        }
        let terms = BatchTerms(firstNumber: signedBatch.number, sender: signedBatch.sender, time: time, server: server)
        var ending: ReceiptEnding?
        let receipts = uploads.indices.map { terms.receipt(uploads[$0], at: $0) }
        let texts = receipts.map { $0.text(&ending) }
        let tree = MerkleTree(texts.map { hasher.leaf($0) }, hasher)
        let message = SignedReceipt.signedMessage(treeSize: UInt32(receipts.count), root: tree.root)
        guard server.verifies(signedBatch.signature, of: message) else { throw .notSigned }
        return receipts.indices.map { index in
            SignedReceipt(
                receipts[index], text: texts[index], index: UInt32(index), in: tree, signature: signedBatch.signature)
        }
    }
}
