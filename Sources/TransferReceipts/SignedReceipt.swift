/// A receipt with the proof that the server gave it.
///
/// A server signs many receipts at once: they are the leaves of a Merkle tree (RFC 9162, section 2.1), and the signature
/// is over the tree's size and root. Each receipt carries what it needs to get from its text to that root.
public struct SignedReceipt: Hashable, Sendable {
    /// What the server says.
    public let receipt: Receipt

    /// Which leaf of the tree it is.
    package let index: UInt32

    /// Leaves of the tree.
    package let treeSize: UInt32

    /// The hashes beside the way to the root, from the bottom.
    package let inclusion: [Bytes32]

    /// Ed25519, 64 bytes.
    package let signature: [UInt8]

    /// Bytes of an inclusion path's length: a tree of 65,536 leaves is 16 high.
    static let longestInclusion = 16

    /// What is signed: three lines that nothing else that is signed with this key begins like.
    package static func signedMessage(treeSize: UInt32, root: Bytes32) -> [UInt8] {
        var message: [UInt8] = []
        message.append("transfer receipts 1\n")
        message.append(decimal: UInt64(treeSize))
        message.append(UInt8(ascii: "\n"))
        root.withUnsafeBytes { message.append(hexadecimal: $0) }
        message.append(UInt8(ascii: "\n"))
        return message
    }
}
