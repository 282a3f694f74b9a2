import TransferCodec
import TransferModel
import TransferProtocol

/// An upload that takes more than one data frame: read, digested and framed piece by piece.
final class LongUpload {
    let pending: PendingUpload
    let reader: ContentReader

    /// The server is asked first; nothing is read until it has answered.
    var isAwaitingAccept: Bool

    private let function: DigestFunction
    private let digester: ContentDigester
    /// Of the blocks, one after the other; of a part only.
    private var blockDigests: [UInt8] = []

    init(_ pending: PendingUpload, reader: ContentReader, function: DigestFunction, isAwaitingAccept: Bool) {
        self.pending = pending
        self.reader = reader
        self.function = function
        digester = ContentDigester(function)
        self.isAwaitingAccept = isAwaitingAccept
    }

    /// Appends the next piece, and the end behind the last one. The chunk is empty or has room for it.
    ///
    /// - Parameter most: bytes of content, up to `OutgoingChunk.payloadSize`.
    /// - Returns: false when the upload is over.
    func produce(into chunk: OutgoingChunk, atMost most: Int) throws(LocalFailure) -> Bool {
        let length = nextLength(atMost: most)
        let header = FrameHeader.encodedSize(bodyLength: length)
        let payload = chunk.tail(from: header, count: length)
        let count = length > 0 ? try reader.read(into: payload) : 0
        let content = UnsafeRawBufferPointer(rebasing: payload[..<count])
        var blocks: [UInt8] = []
        digester.update(content) { index, digest in
            Message.block(BlockDigest(index: index, digest: Digest(function.plain, digest))).encode(into: &blocks)
            if pending.split != nil { blockDigests += digest }
        }
        if count > 0 { chunk.appendData(offset: header, length: count) }
        chunk.append(blocks)
        guard try isComplete(wanted: length, got: count) else { return true }
        try finish(chunk)
        return false
    }

    /// As much as may be, up to the end of the block and of the content.
    private func nextLength(atMost most: Int) -> Int {
        let blockLeft = Limits.blockSize - Int(digester.size % UInt64(Limits.blockSize))
        let length = min(most, blockLeft)
        return Int(min(UInt64(length), (reader.size ?? 0) - digester.size))
    }

    private func isComplete(wanted: Int, got: Int) throws(LocalFailure) -> Bool {
        guard got == wanted else { throw .changed }
        return digester.size == reader.size
    }

    private func finish(_ chunk: OutgoingChunk) throws(LocalFailure) {
        try reader.checkUnchanged()
        let (digest, lastBlock) = digester.finish()
        if case .part(let split, let range) = pending.content {
            // Less than a block: its digest is the content's.
            let last = blockDigests.isEmpty ? digest.bytes : lastBlock?.digest ?? []
            try split.keep(blockDigests + last, of: range)
        }
        var end: [UInt8] = []
        Message.end(End(size: digester.size, digest: digest)).encode(into: &end)
        chunk.append(end)
        chunk.ended.append((pending.id, digest))
    }
}
