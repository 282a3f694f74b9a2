package import TransferKeys
import TransferModel

/// A receipt with the proof that the server has signed it.
///
/// A server signs many receipts at once: they are the leaves of a Merkle tree (RFC 9162, section 2.1), and the
/// signature covers the tree's size and root. Each receipt carries the path from its text to that root.
///
/// A class, so that passing it on costs only a reference count.
public final class SignedReceipt: Sendable {
    /// The statement that the server has signed.
    public let receipt: Receipt

    /// The canonical text that was signed.
    package let text: [UInt8]

    /// Index of the receipt's leaf in the tree.
    package let index: UInt32

    /// Number of leaves in the tree.
    package let treeSize: UInt32

    /// Sibling hashes on the way to the root, from the bottom.
    package var inclusion: [Bytes32] {
        switch way {
        case .path(let hashes): hashes
        case .tree(let tree): tree.inclusionPath(of: Int(index))
        }
    }

    /// Visits the same hashes without allocating an array.
    func forEachOfInclusion(_ body: (Bytes32) -> Void) {
        switch way {
        case .path(let hashes): hashes.forEach(body)
        case .tree(let tree): tree.forEachOnPath(of: Int(index), body)
        }
    }

    private enum Way {
        case path([Bytes32])
        /// The tree, shared by all receipts of a batch, which computes a path only when it is needed.
        case tree(MerkleTree)
    }

    private let way: Way

    /// Ed25519 signature of 64 bytes.
    package let signature: [UInt8]

    /// - Parameter text: the receipt's canonical text.
    init(
        _ receipt: Receipt, text: [UInt8], index: UInt32, treeSize: UInt32, inclusion: [Bytes32], signature: [UInt8]
    ) {
        self.receipt = receipt
        self.text = text
        self.index = index
        self.treeSize = treeSize
        way = .path(inclusion)
        self.signature = signature
    }

    /// - Parameters:
    ///   - text: the receipt's canonical text.
    ///   - index: index of the receipt's leaf.
    init(_ receipt: Receipt, text: [UInt8], index: UInt32, in tree: MerkleTree, signature: [UInt8]) {
        self.receipt = receipt
        self.text = text
        self.index = index
        treeSize = UInt32(tree.size)
        way = .tree(tree)
        self.signature = signature
    }

    /// - Parameter text: the receipt's canonical text.
    convenience init(_ receipt: Receipt, text: [UInt8], _ proof: ReceiptProof) {
        self.init(
            receipt, text: text, index: proof.index, treeSize: proof.treeSize, inclusion: proof.inclusion,
            signature: proof.signature)
    }

    /// Most hashes of an inclusion path: a tree of 65,536 leaves has height 16.
    static let longestInclusion = 16

    /// The message that is signed; see `TreeHead`.
    package static func signedMessage(treeSize: UInt32, root: Bytes32) -> [UInt8] {
        TreeHead(size: treeSize, root: root).message(.uploads)
    }
}

extension SignedReceipt: Equatable {
    /// Whether receipt and proof are equal.
    public static func == (a: SignedReceipt, b: SignedReceipt) -> Bool {
        a.text == b.text && a.index == b.index && a.treeSize == b.treeSize && a.inclusion == b.inclusion
            && a.signature == b.signature
    }
}
