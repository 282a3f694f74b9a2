import TransferKeys
package import TransferModel
import TransferSystem

/// Issues receipts, one signature for each batch. Safe to call from any thread.
package final class ReceiptIssuer: Sendable {
    /// A durable upload, as its receipt will describe it.
    package struct Acknowledged: Sendable {
        package let uploadID: UploadID
        package let path: RelativePath
        package let kind: ContentKind
        package let size: UInt64
        package let digest: Digest
        /// The result, `committed` or `alreadyStored`.
        package let result: ResultCode

        package init(
            uploadID: UploadID, path: RelativePath, kind: ContentKind, size: UInt64, digest: Digest, result: ResultCode
        ) {
            self.uploadID = uploadID
            self.path = path
            self.kind = kind
            self.size = size
            self.digest = digest
            self.result = result
        }
    }

    private let identity: ServerIdentity
    private let numbers: ReceiptNumbers
    private let utc: @Sendable () -> Int64

    /// - Parameter utc: returns the time in nanoseconds since 1970.
    package init(
        _ identity: ServerIdentity, numbers: ReceiptNumbers, utc: @escaping @Sendable () -> Int64 = utcNanoseconds
    ) {
        (self.identity, self.numbers, self.utc) = (identity, numbers, utc)
    }

    /// The public key that verifies these receipts.
    package var key: ServerKey { identity.key }

    /// Proves the key on a connection, as `ServerIdentity.proof` does.
    package func keyProof(on channelBinding: [UInt8]) -> [UInt8] { identity.proof(on: channelBinding) }

    /// - Parameters:
    ///   - uploads: 1 to `Limits.receiptBatch`, all durable.
    ///   - sender: sender of all uploads; cut to its limit.
    /// - Returns: a receipt for each upload, in order.
    package func issue(_ uploads: [Acknowledged], sender: String) -> ReceiptBatch {
        // Trap: the publisher limits its batches, and never issues an empty one.
        precondition((1...Limits.receiptBatch).contains(uploads.count), "a batch of \(uploads.count) receipts")
        return sign(
            uploads,
            BatchTerms(
                firstNumber: numbers.take(uploads.count),
                sender: String(decoding: sender.utf8.prefix(Limits.sender), as: UTF8.self),
                time: ReceiptTime(clamping: UInt64(max(0, utc() / 1_000_000))), server: identity.key))
    }

    /// Makes receipts again that were issued before.
    ///
    /// - Parameters:
    ///   - signedBatch: the batch that was issued.
    ///   - uploads: the same uploads in order.
    /// - Returns: nil unless the receipts are equal to those that were issued, which the signature shows: Ed25519 has
    ///   only one for each text (RFC 8032, section 5.1.6).
    package func issue(again signedBatch: SignedBatch, for uploads: [Acknowledged]) -> ReceiptBatch? {
        guard signedBatch.version == SignedBatch.receiptVersion, uploads.count == signedBatch.count,
            (1...Limits.receiptBatch).contains(uploads.count), let time = ReceiptTime(milliseconds: signedBatch.time)
        else { return nil }
        let batch = sign(
            uploads,
            BatchTerms(firstNumber: signedBatch.number, sender: signedBatch.sender, time: time, server: identity.key))
        return batch.signature == signedBatch.signature ? batch : nil
    }

    private func sign(_ uploads: [Acknowledged], _ terms: BatchTerms) -> ReceiptBatch {
        let hasher = TreeHasher()
        var ending: ReceiptEnding?
        let leaves = uploads.indices.map { hasher.leaf(terms.receipt(uploads[$0], at: $0).text(&ending)) }
        let tree = MerkleTree(leaves, hasher)
        let message = SignedReceipt.signedMessage(treeSize: UInt32(uploads.count), root: tree.root)
        return ReceiptBatch(uploads: uploads, terms: terms, tree: tree, signature: identity.sign(message))
    }
}
