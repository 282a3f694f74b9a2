import TransferKeys
import TransferModel

/// What leads from a receipt's text to a signature: its place in a Merkle tree (RFC 9162, section 2.1), and what was signed
/// of that tree.
struct ReceiptProof: Hashable, Sendable {
    /// Which leaf of the tree the receipt is.
    let index: UInt32

    /// Leaves of the tree.
    let treeSize: UInt32

    /// The hashes beside the way to the root, from the bottom.
    let inclusion: [Bytes32]

    /// Ed25519, 64 bytes.
    let signature: [UInt8]
}

/// A proof as it was read, before anybody has looked whether it makes sense.
struct ReceiptProofFields {
    var index: UInt64 = 0
    var treeSize: UInt64 = 0
    /// Nothing where one of them is no hash.
    var inclusion: [Bytes32]? = []
    var signature: [UInt8] = []
}

extension ReceiptProof {
    /// - Parameters:
    ///   - leaves: that a tree has at most.
    ///   - height: hashes of an inclusion path at most.
    /// - Throws: `malformed`.
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
    /// Bytes of a line beside the receipt's text: what is always there takes 227 bytes at most.
    ///
    /// - Parameter height: hashes of the inclusion path.
    static func receiptEnvelope(height: Int) -> Int { 256 + 67 * height }

    /// The line of a receipt, without its end: the text as it was signed, and the proof around it.
    ///
    /// - Parameter forEachOfInclusion: goes through the inclusion path.
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
