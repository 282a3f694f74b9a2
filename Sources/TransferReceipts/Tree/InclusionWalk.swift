import TransferKeys

/// The way from a leaf to the root, one step for each hash of the inclusion path (RFC 9162, section 2.1.3.2).
struct InclusionWalk: Equatable {
    /// Position among the nodes of this height, and the last position.
    private var position: UInt32
    private var last: UInt32

    /// The hash computed so far: at first that of the leaf.
    private(set) var hash: Bytes32

    /// - Returns: nil if the tree has no such leaf.
    init?(from leaf: Bytes32, index: UInt32, treeSize: UInt32) {
        guard index < treeSize else { return nil }
        position = index
        last = treeSize - 1
        hash = leaf
    }

    /// Whether the walk has reached the root.
    var isAtRoot: Bool { last == 0 }

    /// - Returns: false if the path is longer than the tree's height.
    mutating func step(_ sibling: Bytes32, _ hasher: TreeHasher) -> Bool {
        guard !isAtRoot else { return false }
        if position & 1 == 1 || position == last {
            hash = hasher.node(sibling, hash)
            while position & 1 == 0, position != 0 { moveUp() }
        } else {
            hash = hasher.node(hash, sibling)
        }
        moveUp()
        return true
    }

    private mutating func moveUp() {
        position >>= 1
        last >>= 1
    }
}
