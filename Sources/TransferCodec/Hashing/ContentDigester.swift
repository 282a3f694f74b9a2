package import TransferModel

/// The digest of content of any size that arrives piece by piece, and of its 4 MiB blocks on the way.
///
/// Content of up to one block has the plain digest of its bytes; longer content has the tree digest, which is the digest
/// of its block digests in order. Block digests go straight into a second hash, so memory stays flat: some 1.3 KB.
///
/// It belongs to one task at a time. After `finish()` it takes nothing more until `reset()`.
package final class ContentDigester {
    /// Bytes of content since the last reset; still there after `finish()`.
    package private(set) var size: UInt64 = 0

    private var block: BlockHasher
    private var tree: BlockHasher
    /// Kept because it is the whole content's digest if nothing follows.
    private var firstBlock: [UInt8] = []
    private var isFinished = false

    /// A digester that has seen nothing yet.
    package init(_ function: DigestFunction) {
        block = BlockHasher(function)
        tree = BlockHasher(function)
    }

    /// Appends `bytes`, any number of them, and calls `blockFinished` for each block that they fill, in order.
    ///
    /// A block is finished as soon as it is full, before anything is known of what follows. So block 0 is reported for
    /// content of exactly one block too, and its digest is then the plain digest of the content.
    package func update(
        _ bytes: UnsafeRawBufferPointer, blockFinished: (_ index: UInt64, _ digest: [UInt8]) -> Void
    ) {
        // Trap: our own mistake; nothing from outside decides it.
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

    /// The digest of the content, and the index and digest of its last block if that is a partial one after others.
    ///
    /// `lastBlock` is nil for content of up to one block, whose digest is `digest`, and for content of whole blocks,
    /// all of which `update` has reported.
    package func finish() -> (digest: Digest, lastBlock: (index: UInt64, digest: [UInt8])?) {
        // Trap: our own mistake; nothing from outside decides it.
        precondition(!isFinished, "finish twice, without reset")
        isFinished = true
        let algorithm = block.function.algorithm(forSize: size)
        guard size > UInt64(Limits.blockSize) else {
            return (Digest(algorithm, bytesInBlock == 0 && size > 0 ? firstBlock : block.finish()), nil)
        }
        let last = finishLastBlock()
        return (Digest(algorithm, tree.finish()), last)
    }

    /// The digest of content that is known by those of all its blocks.
    ///
    /// - Parameter digests: one after the other, that of a last block which is not full included.
    package static func digest(_ function: DigestFunction, size: UInt64, ofBlocks digests: [UInt8]) -> Digest {
        let algorithm = function.algorithm(forSize: size)
        guard digests.count != function.size else { return Digest(algorithm, digests) }
        return Digest(algorithm, digests.withUnsafeBytes { BlockHasher.digest(function, $0) })
    }

    /// Goes on with content of which whole blocks were digested before.
    ///
    /// - Parameter digests: of these, one after the other.
    package func reset(after digests: [UInt8]) {
        reset()
        let size = block.function.size
        firstBlock = Array(digests.prefix(size))
        digests.withUnsafeBytes { tree.update($0) }
        self.size = UInt64(digests.count / size) * UInt64(Limits.blockSize)
    }

    /// The digest of what has come of the block that is not full; none where that is no byte. More may follow.
    ///
    /// Only for XXH128, whose state says at any time what it is the digest of.
    package var tail: [UInt8] { bytesInBlock == 0 ? [] : block.current }

    /// Forgets everything, for the next content with the same function.
    package func reset() {
        block.reset()
        tree.reset()
        size = 0
        isFinished = false
    }

    /// Forgets everything, for the next content with `function`. Allocates only when the function changes.
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
