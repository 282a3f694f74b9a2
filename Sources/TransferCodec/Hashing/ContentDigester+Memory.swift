package import TransferModel

extension ContentDigester {
    /// The digest of content in memory: plain up to one block, the tree digest beyond.
    package static func digest(_ function: DigestFunction, _ bytes: UnsafeRawBufferPointer) -> Digest {
        let algorithm = function.algorithm(forSize: UInt64(bytes.count))
        guard bytes.count > Limits.blockSize else { return Digest(algorithm, BlockHasher.digest(function, bytes)) }
        let tree = BlockHasher(function)
        for start in stride(from: 0, to: bytes.count, by: Limits.blockSize) {
            let block = UnsafeRawBufferPointer(rebasing: bytes[start...].prefix(Limits.blockSize))
            BlockHasher.digest(function, block).withUnsafeBytes { tree.update($0) }
        }
        return Digest(algorithm, tree.finish())
    }
}
