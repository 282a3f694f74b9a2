package import TransferKeys

/// A Merkle tree (RFC 9162, section 2.1). The RFC divides from the top, at the largest power of two; joining neighbours
/// from the bottom, where an odd last one moves up unchanged, makes the same tree.
package struct MerkleTree: Sendable {
    /// Hashes of each level, from the leaves to the root.
    private let levels: [[Bytes32]]

    /// - Parameter leaves: hashes of the leaves; at least one.
    package init(_ leaves: [Bytes32], _ hasher: TreeHasher) {
        // Trap: issuer and verifier refuse empty batches.
        precondition(!leaves.isEmpty, "a tree without leaves")
        var levels = [leaves]
        var level = leaves
        while level.count > 1 {
            level = Self.joined(level, hasher)
            levels.append(level)
        }
        self.levels = levels
    }

    private static func joined(_ level: [Bytes32], _ hasher: TreeHasher) -> [Bytes32] {
        stride(from: 0, to: level.count, by: 2).map { index in
            index + 1 < level.count ? hasher.node(level[index], level[index + 1]) : level[index]
        }
    }

    /// Number of leaves in the tree.
    package var size: Int { levels[0].count }

    package var root: Bytes32 { levels[levels.count - 1][0] }

    /// The hashes with which a leaf's hash is joined on the way to the root, from the bottom (RFC 9162, section
    /// 2.1.3.1).
    package func inclusionPath(of leaf: Int) -> [Bytes32] {
        var path: [Bytes32] = []
        path.reserveCapacity(levels.count - 1)
        forEachOnPath(of: leaf) { path.append($0) }
        return path
    }

    /// Visits the hashes of an inclusion path.
    func forEachOnPath(of leaf: Int, _ body: (Bytes32) -> Void) {
        for height in 0..<levels.count - 1 {
            let sibling = leaf >> height ^ 1
            if sibling < levels[height].count { body(levels[height][sibling]) }
        }
    }
}
