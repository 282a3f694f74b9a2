import Testing
import TransferCodec
import TransferKeys
import TransferModel

@testable import TransferReceipts

@Suite struct MerkleTreeTests {
    private let hasher = TreeHasher()

    /// Leaves and roots of the tests of Certificate Transparency's reference implementation.
    static let contents = [
        "", "00", "10", "2021", "3031", "40414243", "5051525354555657", "606162636465666768696a6b6c6d6e6f",
    ]

    static let roots = [
        "6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d",
        "fac54203e7cc696cf0dfcb42c92a1d9dbaf70ad9e621f4bd8d98662f00e3c125",
        "aeb6bcfe274b70a14fb067a5e5578264db0fa9b51af5e0ba159158f329e06e77",
        "d37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7",
        "4e3bbb1f7b478dcfe71fb631631519a3bca12c9aefca1612bfce4c13a86264d4",
        "76e67dadbcdf1e10e1b74ddc608abd2f98dfb16fbce75277b5232a127f2087ef",
        "ddb89be403809e325750d3d263cd78929c2942b7942a34b77e122c9594a74c8c",
        "5dc9da79a70659a9ad559cb701ded9a2ab9d823aad2f4960cfe370eff4604328",
    ]

    @Test(arguments: 1...8) func knownRoots(_ count: Int) throws {
        let leaves = try Self.contents.prefix(count).map { hasher.leaf(try #require([UInt8](hexadecimal: $0))) }
        #expect(MerkleTree(leaves, hasher).root.bytes == [UInt8](hexadecimal: Self.roots[count - 1]))
    }

    /// Compares with the definitions of the RFC, which divide the tree from the top.
    @Test(arguments: Array(1...70) + [127, 128, 129, 1_000]) func everyLeafHasItsPath(_ count: Int) {
        let contents = (0..<count).map { Array("leaf \($0)".utf8) }
        let leaves = contents.map(hasher.leaf)
        let tree = MerkleTree(leaves, hasher)
        #expect(tree.root.bytes == NaiveTree.hash(contents[...]))
        for index in 0..<count {
            let path = tree.inclusionPath(of: index)
            if count <= 70 { #expect(path.map(\.bytes) == NaiveTree.path(index, contents[...])) }
            #expect(root(leaves[index], index, count, path) == tree.root)
        }
    }

    @Test(arguments: [1, 2, 3, 6, 7, 8, 13]) func nothingElseLeadsToTheRoot(_ count: Int) {
        let leaves = (0..<count).map { hasher.leaf([UInt8($0)]) }
        let tree = MerkleTree(leaves, hasher)
        for index in 0..<count {
            let path = tree.inclusionPath(of: index)
            for other in 0..<count where other != index {
                #expect(root(leaves[other], index, count, path) != tree.root)
                #expect(root(leaves[index], other, count, path) != tree.root)
            }
            #expect(root(leaves[index], index, count, path + [tree.root]) == nil)
            if !path.isEmpty { #expect(root(leaves[index], index, count, path.dropLast()) == nil) }
            #expect(root(leaves[index], count, count, path) == nil)
        }
    }

    private func root(_ leaf: Bytes32, _ index: Int, _ count: Int, _ path: [Bytes32]) -> Bytes32? {
        guard var walk = InclusionWalk(from: leaf, index: UInt32(index), treeSize: UInt32(count)) else { return nil }
        for hash in path {
            guard walk.step(hash, hasher) else { return nil }
        }
        return walk.isAtRoot ? walk.hash : nil
    }
}

/// RFC 9162, sections 2.1.1 and 2.1.3.1, word by word.
private enum NaiveTree {
    static func hash(_ leaves: ArraySlice<[UInt8]>) -> [UInt8] {
        guard leaves.count > 1 else { return sha256([0] + (leaves.first ?? [])) }
        let (left, right) = halves(leaves)
        return sha256([1] + hash(left) + hash(right))
    }

    static func path(_ index: Int, _ leaves: ArraySlice<[UInt8]>) -> [[UInt8]] {
        guard leaves.count > 1 else { return [] }
        let (left, right) = halves(leaves)
        return index < left.count
            ? path(index, left) + [hash(right)] : path(index - left.count, right) + [hash(left)]
    }

    /// Divides at the largest power of two that is smaller than the number of leaves.
    private static func halves(
        _ leaves: ArraySlice<[UInt8]>
    ) -> (ArraySlice<[UInt8]>, ArraySlice<[UInt8]>) {
        var power = 1
        while power * 2 < leaves.count { power *= 2 }
        return (leaves.prefix(power), leaves.dropFirst(power))
    }

    private static func sha256(_ bytes: [UInt8]) -> [UInt8] {
        bytes.withUnsafeBytes { BlockHasher.digest(.sha256, $0) }
    }
}
