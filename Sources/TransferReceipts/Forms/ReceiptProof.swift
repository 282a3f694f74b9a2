import TransferKeys
import TransferModel

/// The path from a receipt's text to a signature: its place in a Merkle tree (RFC 9162, section 2.1), and the signature
/// of that tree.
struct ReceiptProof: Hashable, Sendable {
    /// Index of the receipt's leaf in the tree.
    let index: UInt32

    /// Number of leaves in the tree.
    let treeSize: UInt32

    /// Sibling hashes on the way to the root, from the bottom.
    let inclusion: [Bytes32]

    /// Ed25519 signature of 64 bytes.
    let signature: [UInt8]
}

/// A proof as read, not yet validated.
struct ReceiptProofFields {
    var index: UInt64 = 0
    var treeSize: UInt64 = 0
    /// Sibling hashes; nil if one of them is invalid.
    var inclusion: [Bytes32]? = []
    var signature: [UInt8] = []
}

extension ReceiptProof {
    /// - Parameters:
    ///   - leaves: most leaves of a tree.
    ///   - height: most hashes of an inclusion path.
    /// - Throws: `malformed` for an invalid field.
    init(_ fields: ReceiptProofFields, leaves: Int, height: Int) throws(ReceiptFault) {
        guard (1...UInt64(leaves)).contains(fields.treeSize), fields.index < fields.treeSize else {
            throw .malformed("no leaf of a tree")
        }
        guard let inclusion = fields.inclusion, inclusion.count <= height else {
            throw .malformed("no inclusion path")
        }
        guard fields.signature.count == PublicKey.signatureSize else { throw .malformed("no signature") }
        self.init(
            index: UInt32(fields.index), treeSize: UInt32(fields.treeSize), inclusion: inclusion,
            signature: fields.signature)
    }
}

extension ByteWriter {
    /// Most bytes of a line besides the receipt's text; the fixed part takes up to 227.
    ///
    /// - Parameter height: number of hashes in the inclusion path.
    static func receiptEnvelope(height: Int) -> Int { 256 + 67 * height }

    /// Appends the line of a receipt without its end: the signed text and the proof around it.
    ///
    /// - Parameter forEachOfInclusion: visits the hashes of the inclusion path.
    mutating func append(
        receipt text: [UInt8], index: UInt32, treeSize: UInt32, signature: [UInt8],
        forEachOfInclusion: ((Bytes32) -> Void) -> Void
    ) {
        append("{\"receipt\":")
        append(text)
        append(",\"index\":")
        append(decimal: UInt64(index))
        append(",\"treeSize\":")
        append(decimal: UInt64(treeSize))
        append(",\"inclusion\":[")
        var isFirst = true
        forEachOfInclusion { hash in
            append(isFirst ? "\"" : ",\"")
            hash.withUnsafeBytes { append(hexadecimal: $0) }
            append("\"")
            isFirst = false
        }
        append("],\"signature\":\"")
        append(hexadecimal: signature)
        append("\"}")
    }
}
