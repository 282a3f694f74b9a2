package import TransferModel

/// Computes the digest of content that arrives in pieces, and of each 4 MiB block on the way.
///
/// Content of up to one block has the plain digest of the bytes; longer content has the tree digest, which is the
/// digest of all block digests in order. Block digests go into a second hash at once, so that memory is constant: some
/// 1.3 KB.
///
/// It belongs to one task at a time. After `finish()` it accepts no bytes until `reset()`.
package final class ContentDigester {
    /// Bytes of content since the last reset; still valid after `finish()`.
    package private(set) var size: UInt64 = 0

    private var block: BlockHasher
    private var tree: BlockHasher
    /// Digest of the first block, which is that of the content if nothing follows.
    private var firstBlock: [UInt8] = []
    private var isFinished = false

    /// Makes a digester without content.
    package init(_ function: DigestFunction) {
        block = BlockHasher(function)
        tree = BlockHasher(function)
    }

    /// Appends `bytes`, any number of them, and calls `blockFinished` for each block that they fill, in order.
    ///
    /// A block is finished as soon as it is full, before it is known whether more follows. So block 0 is also reported
    /// for content of exactly one block, whose plain digest it is.
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

    /// The digest of the content, and index and digest of the last block if that is partial and not the only one.
    ///
    /// `lastBlock` is nil for content of up to one block, whose digest is `digest`, and for content of whole blocks,
    /// all of which `update` has reported.
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
    /// - Parameter digests: all digests concatenated, including that of a partial last block.
    package static func digest(_ function: DigestFunction, size: UInt64, ofBlocks digests: [UInt8]) -> Digest {
        let algorithm = function.algorithm(forSize: size)
        guard digests.count != function.size else { return Digest(algorithm, digests) }
        return Digest(algorithm, digests.withUnsafeBytes { BlockHasher.digest(function, $0) })
    }

    /// Continues content whose first blocks were digested before.
    ///
    /// - Parameter digests: digests of these blocks, concatenated.
    package func reset(after digests: [UInt8]) {
        reset()
        let size = block.function.size
        firstBlock = Array(digests.prefix(size))
        digests.withUnsafeBytes { tree.update($0) }
        self.size = UInt64(digests.count / size) * UInt64(Limits.blockSize)
    }

    /// The digest of the partial block so far; empty if it has no bytes. More may follow.
    ///
    /// Only for XXH3-128, whose state can be read at any time.
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
