package import TransferKeys
import TransferProtocol

/// Delivery receipts under one signature: those of one `settle` frame, in its order.
package enum DeliveryBatch {
    /// Most receipts under one signature, as in a `settle` frame. Limits the inclusion path to 8 hashes.
    package static let most = SettleRequest.mostDeliveries

    /// Makes the recipient's signature for the server.
    ///
    /// - Parameters:
    ///   - receipts: 1 to `most`, all with this key.
    ///   - key: the recipient's key pair.
    /// - Returns: a signature of 64 bytes.
    package static func sign(_ receipts: [DeliveryReceipt], with key: KeyPair) -> [UInt8] {
        // Trap: a recipient signs its own receipts with its own key, in batches that it has divided by this limit.
        precondition(isBatch(receipts, of: key.key), "a batch of \(receipts.count) delivery receipts")
        let hasher = TreeHasher()
        return key.sign(message(MerkleTree(receipts.map { hasher.leaf($0.text) }, hasher)))
    }

    /// Makes the lines that the server stores and lists.
    ///
    /// - Parameters:
    ///   - receipts: in the order in which the recipient has named them.
    ///   - signature: the recipient's signature.
    /// - Returns: one line for each receipt, without a line end, of at most `SignedDeliveryReceipt.longestLine` bytes;
    ///   nil unless there are 1 to `most` receipts of one recipient and the signature is valid for exactly these.
    package static func lines(_ receipts: [DeliveryReceipt], signature: [UInt8]) -> [[UInt8]]? {
        signed(receipts, signature: signature)?.map(\.jsonBytes)
    }

    /// Makes the same receipts, but as values whose signature was verified.
    package static func signed(_ receipts: [DeliveryReceipt], signature: [UInt8]) -> [SignedDeliveryReceipt]? {
        guard let recipient = receipts.first?.recipient, isBatch(receipts, of: recipient) else { return nil }
        let hasher = TreeHasher()
        let texts = receipts.map(\.text)
        let tree = MerkleTree(texts.map { hasher.leaf($0) }, hasher)
        guard signature.count == PublicKey.signatureSize, recipient.verifies(signature, of: message(tree)) else {
            return nil
        }
        return receipts.indices.map { index in
            let proof = ReceiptProof(
                index: UInt32(index), treeSize: UInt32(receipts.count), inclusion: tree.inclusionPath(of: index),
                signature: signature)
            return SignedDeliveryReceipt(receipts[index], proof, text: texts[index])
        }
    }

    private static func isBatch(_ receipts: [DeliveryReceipt], of recipient: PublicKey) -> Bool {
        (1...most).contains(receipts.count) && receipts.allSatisfy { $0.recipient == recipient }
    }

    private static func message(_ tree: MerkleTree) -> [UInt8] {
        TreeHead(size: UInt32(tree.size), root: tree.root).message(.deliveries)
    }
}
