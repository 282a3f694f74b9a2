package import TransferKeys
import TransferModel

/// A receipt with the proof that the server gave it.
///
/// A server signs many receipts at once: they are the leaves of a Merkle tree (RFC 9162, section 2.1), and the signature
/// is over the tree's size and root. Each receipt carries what it needs to get from its text to that root.
///
/// A class, so that handing one on costs no more than a count.
public final class SignedReceipt: Sendable {
    /// What the server says.
    public let receipt: Receipt

    /// The receipt as it was signed.
    package let text: [UInt8]

    /// Which leaf of the tree it is.
    package let index: UInt32

    /// Leaves of the tree.
    package let treeSize: UInt32

    /// The hashes beside the way to the root, from the bottom.
    package var inclusion: [Bytes32] {
        switch way {
        case .path(let hashes): hashes
        case .tree(let tree): tree.inclusionPath(of: Int(index))
        }
    }

    /// The same hashes, without an array for them.
    func forEachOfInclusion(_ body: (Bytes32) -> Void) {
        switch way {
        case .path(let hashes): hashes.forEach(body)
        case .tree(let tree): tree.forEachOnPath(of: Int(index), body)
        }
    }

    private enum Way {
        case path([Bytes32])
        /// Shared by all receipts of a batch, which need not have a path each as long as nobody asks.
        case tree(MerkleTree)
    }

    private let way: Way

    /// Ed25519, 64 bytes.
    package let signature: [UInt8]

    /// - Parameter text: the receipt's.
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
    ///   - text: the receipt's.
    ///   - index: of its leaf.
    init(_ receipt: Receipt, text: [UInt8], index: UInt32, in tree: MerkleTree, signature: [UInt8]) {
        self.receipt = receipt
        self.text = text
        self.index = index
        treeSize = UInt32(tree.size)
        way = .tree(tree)
        self.signature = signature
    }

    /// - Parameter text: the receipt's.
    convenience init(_ receipt: Receipt, text: [UInt8], _ proof: ReceiptProof) {
        self.init(
            receipt, text: text, index: proof.index, treeSize: proof.treeSize, inclusion: proof.inclusion,
            signature: proof.signature)
    }

    /// Bytes of an inclusion path's length: a tree of 65,536 leaves is 16 high.
    static let longestInclusion = 16

    /// What is signed; see `TreeHead`.
    package static func signedMessage(treeSize: UInt32, root: Bytes32) -> [UInt8] {
        TreeHead(size: treeSize, root: root).message(.uploads)
    }
}

extension SignedReceipt: Equatable {
    /// Whether they say and prove the same.
    public static func == (a: SignedReceipt, b: SignedReceipt) -> Bool {
        a.text == b.text && a.index == b.index && a.treeSize == b.treeSize && a.inclusion == b.inclusion
            && a.signature == b.signature
    }
}
