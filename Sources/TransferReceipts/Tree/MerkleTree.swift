package import TransferKeys

/// A Merkle tree as in RFC 9162, section 2.1. The RFC divides from the top, at the largest power of two; joining
/// neighbours from the bottom, an odd one out moving up as it is, gives the same tree.
package struct MerkleTree: Sendable {
    /// From the leaves' hashes up to the root alone.
    private let levels: [[Bytes32]]

    /// - Parameter leaves: their hashes; at least one.
    package init(_ leaves: [Bytes32], _ hasher: TreeHasher) {
        // Trap: issuer and verifier refuse to work on none.
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

    /// How many leaves it has.
    package var size: Int { levels[0].count }

    package var root: Bytes32 { levels[levels.count - 1][0] }

    /// What a leaf's hash has to be joined with on its way up to the root, from the bottom (RFC 9162, section 2.1.3.1).
    package func inclusionPath(of leaf: Int) -> [Bytes32] {
        var path: [Bytes32] = []
        path.reserveCapacity(levels.count - 1)
        forEachOnPath(of: leaf) { path.append($0) }
        return path
    }

    /// Goes through the hashes of an inclusion path.
    func forEachOnPath(of leaf: Int, _ body: (Bytes32) -> Void) {
        for height in 0..<levels.count - 1 {
            let sibling = leaf >> height ^ 1
            if sibling < levels[height].count { body(levels[height][sibling]) }
        }
    }
}
