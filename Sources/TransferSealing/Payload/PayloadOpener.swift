/// Opens the chunks after header and nonce, wherever they are cut. Each chunk is authenticated before its content is
/// returned.
///
/// It belongs to one task at a time.
final class PayloadOpener {
    private let cipher: ChunkCipher
    private var chunk: UInt64 = 0
    /// Bytes of content that may still follow.
    private var allowance: UInt64

    /// A chunk that waits until it is known whether it is the last.
    private let pending = WipedBuffer(capacity: SealedLayout.sealedChunkSize)
    private let opened = WipedBuffer(capacity: SealedLayout.chunkSize)

    /// - Parameter limit: most bytes of content.
    init(key: SecretBytes, atMost limit: UInt64) throws(SealingError) {
        cipher = try ChunkCipher(.opening, key: key)
        allowance = limit
    }

    /// Consumes `input` and appends the content that is authenticated.
    func open(_ input: UnsafeRawBufferPointer, into output: inout [UInt8]) throws(SealingError) {
        var rest = input[...]
        while !rest.isEmpty {
            if pending.isFull {
                try open(chunk: pending.content, isLast: false, into: &output)
                pending.clear()
            }
            if pending.isEmpty, rest.count > SealedLayout.sealedChunkSize {
                let whole = UnsafeRawBufferPointer(rebasing: rest.prefix(SealedLayout.sealedChunkSize))
                try open(chunk: whole, isLast: false, into: &output)
                rest = rest.dropFirst(SealedLayout.sealedChunkSize)
            } else {
                rest = rest.dropFirst(pending.append(UnsafeRawBufferPointer(rebasing: rest)))
            }
        }
    }

    /// Opens the last chunk, after the end of the file.
    func finish(into output: inout [UInt8]) throws(SealingError) {
        let last = pending.content
        guard last.count >= ChunkCipher.tagSize else { throw .truncated }
        try open(chunk: last, isLast: true, into: &output)
        // Only the single chunk of empty content is empty (age, "Payload").
        guard last.count > ChunkCipher.tagSize || chunk == 1 else { throw .damaged }
    }

    private func open(
        chunk input: UnsafeRawBufferPointer, isLast: Bool, into output: inout [UInt8]
    ) throws(SealingError) {
        let nonce = ChunkNonce(chunk: chunk, isLast: isLast)
        guard try cipher.open(input, nonce, into: opened.room) else { throw try fault(of: input, isLast: isLast) }
        let size = input.count - ChunkCipher.tagSize
        guard size <= allowance else {
            throw .tooLarge("The sealed content is longer than announced.")
        }
        allowance -= UInt64(size)
        output += opened.room.prefix(size)
        chunk &+= 1
    }

    /// Finds out why a chunk does not open: whether it is intact but unexpectedly the last, or not the last.
    private func fault(of input: UnsafeRawBufferPointer, isLast: Bool) throws(SealingError) -> SealingError {
        let other = ChunkNonce(chunk: chunk, isLast: !isLast)
        guard try cipher.open(input, other, into: opened.room) else { return .damaged }
        opened.wipe()
        return isLast ? .truncated : .trailingData
    }
}
