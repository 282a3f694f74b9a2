import TransferModel
import TransferProtocol

/// A delivery receipt with the proof that the recipient has signed it.
///
/// As with a server's receipts, those that a recipient signs at once are the leaves of a Merkle tree, and each carries
/// the path from its text to the signed root.
public struct SignedDeliveryReceipt: Sendable {
    /// The statement that the recipient has signed.
    public let receipt: DeliveryReceipt

    /// The canonical text that was signed.
    let text: [UInt8]

    let proof: ReceiptProof

    /// - Parameter text: text of the receipt, if it is known already.
    init(_ receipt: DeliveryReceipt, _ proof: ReceiptProof, text: [UInt8]? = nil) {
        (self.receipt, self.proof) = (receipt, proof)
        self.text = text ?? receipt.text
    }

    /// Index among the receipts that were signed together, from 0.
    package var index: Int { Int(proof.index) }

    /// Number of receipts that were signed together.
    package var treeSize: Int { Int(proof.treeSize) }

    /// Most hashes of an inclusion path: a tree of `DeliveryBatch.most` leaves has height 8.
    static let longestInclusion = 8

    /// Most bytes of a line, which is also what a server stores and lists. The longest possible one has three names of
    /// 6,150 bytes together, 406 bytes around them, and 733 of proof.
    package static let longestLine = ListedDelivery.receiptSize

    /// One JSON object on one line, without a line end. It contains the receipt's text as it was signed.
    public var json: String { String(decoding: jsonBytes, as: UTF8.self) }

    /// The text of `json` in UTF-8.
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
    /// Whether receipt and proof are equal.
    public static func == (a: SignedDeliveryReceipt, b: SignedDeliveryReceipt) -> Bool {
        a.text == b.text && a.proof == b.proof
    }

    /// Hashes the text and the proof.
    public func hash(into hasher: inout Hasher) {
        hasher.combine(text)
        hasher.combine(proof)
    }
}
