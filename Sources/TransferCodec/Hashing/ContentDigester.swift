package import TransferModel

/// Computes the digest of content that arrives in pieces, and that of each 4 MiB block in it.
///
/// Content of up to one block has the plain digest, over the bytes themselves. Longer content has the tree digest,
/// which is the digest of all block digests in order. Each block digest is added to a second hash at once, so that
/// memory is constant: some 1.3 KB.
///
/// One task at a time may use it. After `finish()` it accepts no bytes until `reset()`.
package final class ContentDigester {
    /// Bytes of content since the last reset; still valid after `finish()`.
    package private(set) var size: UInt64 = 0

    private var block: BlockHasher
    private var tree: BlockHasher
    /// Digest of the first block, which is also the digest of the content if no more bytes follow.
    private var firstBlock: [UInt8] = []
    private var isFinished = false

    /// Makes a digester without content.
    package init(_ function: DigestFunction) {
        block = BlockHasher(function)
        tree = BlockHasher(function)
    }

    /// Appends any number of bytes, and calls `blockFinished` for each block that is complete with them, in order.
    ///
    /// A block is reported as soon as it is full, before it is known whether more bytes follow. So block 0 is also
    /// reported if the content is exactly one block; its digest is then the plain digest of the content.
    package func update(
        _ bytes: UnsafeRawBufferPointer, blockFinished: (_ index: UInt64, _ digest: [UInt8]) -> Void
    ) {
        // Trap: only a programming error causes this.
        precondition(!isFinished, "update after finish, without reset")
        var rest = bytes[...]
        while !rest.isEmpty {
            let piece = rest.prefix(Limits.blockSize - bytesInBlock)
            block.update(UnsafeRawBufferPointer(rebasing: piece))
            size += UInt64(piece.count)
            rest = rest.dropFirst(piece.count)
            if bytesInBlock == 0 { finishBlock(blockFinished) }
        }
    }

    /// The digest of the content, and the last block's index and digest if that block is partial and not the only one.
    ///
    /// `lastBlock` is nil for content of up to one block, whose digest is `digest`. It is also nil for content that
    /// consists of whole blocks, because `update` has reported all of them.
    package func finish() -> (digest: Digest, lastBlock: (index: UInt64, digest: [UInt8])?) {
        // Trap: only a programming error causes this.
        precondition(!isFinished, "finish twice, without reset")
        isFinished = true
        let algorithm = block.function.algorithm(forSize: size)
        guard size > UInt64(Limits.blockSize) else {
            return (Digest(algorithm, bytesInBlock == 0 && size > 0 ? firstBlock : block.finish()), nil)
        }
        let last = finishLastBlock()
        return (Digest(algorithm, tree.finish()), last)
    }

    /// Computes the digest of content from those of all its blocks.
    ///
    /// - Parameter digests: all digests, concatenated, including the digest of a partial last block.
    package static func digest(_ function: DigestFunction, size: UInt64, ofBlocks digests: [UInt8]) -> Digest {
        let algorithm = function.algorithm(forSize: size)
        guard digests.count != function.size else { return Digest(algorithm, digests) }
        return Digest(algorithm, digests.withUnsafeBytes { BlockHasher.digest(function, $0) })
    }

    /// Begins with content whose first blocks were digested before; their bytes are not passed again.
    ///
    /// - Parameter digests: digests of these blocks, concatenated.
    package func reset(after digests: [UInt8]) {
        reset()
        let size = block.function.size
        firstBlock = Array(digests.prefix(size))
        digests.withUnsafeBytes { tree.update($0) }
        self.size = UInt64(digests.count / size) * UInt64(Limits.blockSize)
    }

    /// The digest of the bytes so far in a block that is not full; empty if there are no such bytes. More bytes may
    /// follow.
    package var tail: [UInt8] { bytesInBlock == 0 ? [] : block.current }

    /// Begins again, for content with the same function.
    package func reset() {
        block.reset()
        tree.reset()
        size = 0
        isFinished = false
    }

    /// Begins again, for content with `function`. Allocates only if the function changes.
    package func reset(to function: DigestFunction) {
        if function != block.function {
            block = BlockHasher(function)
            tree = BlockHasher(function)
        }
        reset()
    }

    private var bytesInBlock: Int { Int(size % UInt64(Limits.blockSize)) }

    private func finishBlock(_ blockFinished: (_ index: UInt64, _ digest: [UInt8]) -> Void) {
        let index = size / UInt64(Limits.blockSize) - 1
        let digest = block.finish()
        if index == 0 { firstBlock = digest }
        digest.withUnsafeBytes { tree.update($0) }
        blockFinished(index, digest)
    }

    private func finishLastBlock() -> (index: UInt64, digest: [UInt8])? {
        guard bytesInBlock > 0 else { return nil }
        let digest = block.finish()
        digest.withUnsafeBytes { tree.update($0) }
        return (size / UInt64(Limits.blockSize), digest)
    }
}
