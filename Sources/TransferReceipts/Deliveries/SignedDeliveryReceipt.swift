import TransferModel
import TransferProtocol

/// A delivery receipt with the proof that the recipient gave it.
///
/// As with a server's receipts, the receipts that a recipient signs at once are the leaves of a Merkle tree, and each carries
/// what it needs to get from its text to what is signed.
public struct SignedDeliveryReceipt: Sendable {
    /// What the recipient says.
    public let receipt: DeliveryReceipt

    /// The receipt as it was signed.
    let text: [UInt8]

    let proof: ReceiptProof

    /// - Parameter text: of the receipt, where it is known already.
    init(_ receipt: DeliveryReceipt, _ proof: ReceiptProof, text: [UInt8]? = nil) {
        (self.receipt, self.proof) = (receipt, proof)
        self.text = text ?? receipt.text
    }

    /// Which of those that were signed together it is, from 0.
    package var index: Int { Int(proof.index) }

    /// How many were signed together.
    package var treeSize: Int { Int(proof.treeSize) }

    /// Hashes of an inclusion path at most: a tree of `DeliveryBatch.most` leaves is 8 high.
    static let longestInclusion = 8

    /// Bytes of the longest line that is read: what a server keeps and lists of one. The longest that there can be has three
    /// names of 6,150 bytes together, 406 around them in the text, and 733 of proof.
    package static let longestLine = ListedDelivery.receiptSize

    /// One JSON object on one line, without an end of line. The receipt's text stands in it as it was signed.
    public var json: String { String(decoding: jsonBytes, as: UTF8.self) }

    /// As `json`, in UTF-8.
    package var jsonBytes: [UInt8] {
        let capacity = text.count + ByteWriter.receiptEnvelope(height: proof.inclusion.count)
        return ByteWriter.bytes(capacity: capacity) { line in
            line.append(
                receipt: text, index: proof.index, treeSize: proof.treeSize, signature: proof.signature
            ) { body in proof.inclusion.forEach(body) }
        }
    }
}

extension SignedDeliveryReceipt: Hashable {
    /// Whether they say and prove the same.
    public static func == (a: SignedDeliveryReceipt, b: SignedDeliveryReceipt) -> Bool {
        a.text == b.text && a.proof == b.proof
    }

    /// Of text and proof.
    public func hash(into hasher: inout Hasher) {
        hasher.combine(text)
        hasher.combine(proof)
    }
}
