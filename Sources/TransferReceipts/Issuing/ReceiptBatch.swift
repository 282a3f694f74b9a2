package import TransferModel

/// A batch of receipts under one signature.
///
/// Only hashes of their texts are kept: a server does not need the texts, and those of a large batch would not stay in
/// the processor's cache.
package struct ReceiptBatch {
    /// The uploads in the order of the tree's leaves.
    let uploads: [ReceiptIssuer.Acknowledged]
    let terms: BatchTerms
    let tree: MerkleTree

    /// Signature over the tree's size and root.
    let signature: [UInt8]

    package var count: Int { uploads.count }

    /// The part of the batch from which a client that has the results can make all receipts.
    package var signedBatch: SignedBatch {
        SignedBatch(
            number: terms.firstNumber, time: terms.time.milliseconds, count: count, signature: signature,
            sender: terms.sender)
    }

    /// One receipt as in a `result` frame; the same bytes as `signed(_:).encoded`.
    package func encoded(_ index: Int) -> [UInt8] {
        SignedReceipt.encode(terms.receipt(uploads[index], at: index), proof(index))
    }

    /// - Returns: the receipt with this number; nil if it is not in the batch.
    package func encoded(number: UInt64) -> [UInt8]? {
        guard number >= terms.firstNumber, number - terms.firstNumber < UInt64(count) else { return nil }
        return encoded(Int(number - terms.firstNumber))
    }

    /// One receipt with its proof.
    package func signed(_ index: Int) -> SignedReceipt {
        let receipt = terms.receipt(uploads[index], at: index)
        return SignedReceipt(receipt, text: receipt.text, proof(index))
    }

    /// All receipts with their proofs, in order.
    package var signed: [SignedReceipt] { uploads.indices.map { signed($0) } }

    private func proof(_ index: Int) -> ReceiptProof {
        ReceiptProof(
            index: UInt32(index), treeSize: UInt32(uploads.count), inclusion: tree.inclusionPath(of: index),
            signature: signature)
    }
}
