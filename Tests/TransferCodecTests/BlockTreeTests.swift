import Testing
import TransferCodec
import TransferModel

@Suite struct BlockTreeTests {
    /// Content without a byte has no block; the digest of a single block is the digest of the content.
    @Test(arguments: [0, 1, Limits.blockSize, Limits.blockSize + 1, 2 * Limits.blockSize], DigestFunction.allCases)
    func agreesWithTheDigestOfTheContent(size: Int, function: DigestFunction) {
        let content = Sample.random(size)
        let blocks = stride(from: 0, to: size, by: Limits.blockSize).flatMap { start in
            content[start...].prefix(Limits.blockSize).withUnsafeBytes { BlockHasher.digest(function, $0) }
        }
        #expect(BlockTree.root(blocks, function) == content.withUnsafeBytes { ContentDigester.digest(function, $0) })
    }

    /// Bytes that are not a list of digests still have a digest, and do not trap.
    @Test(arguments: [1, 15, 17, 31, 33]) func anyNumberOfBytes(count: Int) {
        for function in DigestFunction.allCases {
            let bytes = [UInt8](repeating: 1, count: count)
            #expect(BlockTree.root(bytes, function).algorithm == function.tree)
        }
    }
}
