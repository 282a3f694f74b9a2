import TransferKeys
package import TransferProtocol

/// Gives receipts: all of a batch with one signature. Safe to call from any thread.
package final class ReceiptIssuer: Sendable {
    /// An upload that is on stable storage, as its receipt will name it.
    package struct Acknowledged: Sendable {
        package let uploadID: UploadID
        package let path: RelativePath
        package let kind: ContentKind
        package let size: UInt64
        package let digest: Digest
        /// `committed` or `alreadyStored`.
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

    package init(_ identity: ServerIdentity, numbers: ReceiptNumbers) {
        self.identity = identity
        self.numbers = numbers
    }

    /// Whose receipts these are.
    package var key: ServerKey { identity.key }

    /// - Parameters:
    ///   - uploads: 1 to `Limits.receiptBatch`, all durable.
    ///   - sender: of all of them; cut to its limit.
    /// - Returns: a receipt for each, in order.
    package func issue(_ uploads: [Acknowledged], sender: String) -> ReceiptBatch {
        precondition((1...Limits.receiptBatch).contains(uploads.count), "a batch of \(uploads.count) receipts")
        let receipts = receipts(uploads, sender: String(decoding: sender.utf8.prefix(Limits.sender), as: UTF8.self))
        let hasher = TreeHasher()
        var ending: ReceiptEnding?
        let tree = MerkleTree(receipts.map { hasher.leaf($0.text(&ending)) }, hasher)
        let message = SignedReceipt.signedMessage(treeSize: UInt32(receipts.count), root: tree.root)
        return ReceiptBatch(receipts: receipts, tree: tree, signature: identity.sign(message))
    }

    private func receipts(_ uploads: [Acknowledged], sender: String) -> [Receipt] {
        let first = numbers.take(uploads.count)
        let time = ReceiptTime(clamping: ReceiptClock.microseconds() / 1_000)
        return uploads.enumerated().map { offset, upload in
            Receipt(
                number: first + UInt64(offset), uploadID: upload.uploadID, path: upload.path, kind: upload.kind,
                size: upload.size, digest: upload.digest, result: upload.result, sender: sender, time: time,
                server: identity.key)
        }
    }
}
