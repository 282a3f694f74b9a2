import TransferCodec
import TransferModel
import TransferProtocol
import TransferSystem

/// An upload of more than one data frame, which is read, digested and framed piece by piece.
final class LongUpload {
    let pending: PendingUpload
    let reader: ContentReader

    /// Whether the server is asked first; nothing is read until it has accepted the upload.
    var isAwaitingAccept: Bool

    private let function: DigestFunction
    private let digester: ContentDigester
    /// The digests of the blocks, one after the other; for a part only.
    private var blockDigests: [UInt8] = []

    init(_ pending: PendingUpload, reader: ContentReader, function: DigestFunction, isAwaitingAccept: Bool) {
        self.pending = pending
        self.reader = reader
        self.function = function
        digester = ContentDigester(function)
        self.isAwaitingAccept = isAwaitingAccept
    }

    /// Appends the next piece, and the end after the last one. The chunk is empty or has room for it.
    ///
    /// - Returns: false if the upload is complete.
    func produce(into chunk: OutgoingChunk, _ orders: LaneProducer.Orders) throws(Failure) -> Bool {
        if orders.takesHoles, reader.filled != nil { return try produceWithHoles(into: chunk, orders.mostContent) }
        return try producePiece(into: chunk, atMost: orders.mostContent)
    }

    /// The most bytes of holes in a chunk, which take either side some milliseconds to digest.
    private static let mostHoles = 16 << 20

    /// The room in a chunk besides a piece: for headers, a `block`, and an `end` or `abort`.
    private static let controlRoom = OutgoingChunk.longRoom - OutgoingChunk.payloadSize

    /// The least room for which a chunk takes more data, unless the data before the next hole is shorter.
    private static let leastPiece = 4 << 10

    /// Appends pieces of a file with holes. Data between holes may be short, so a chunk takes as many pieces as fit.
    private func produceWithHoles(into chunk: OutgoingChunk, _ most: Int) throws(Failure) -> Bool {
        var holes = 0
        while holes < Self.mostHoles, chunk.room >= OutgoingChunk.controlRoom / 2 {
            let run = reader.run
            let length = Int(clamping: run.count)
            guard run.isHole else {
                let room = min(most - chunk.contentCount, chunk.room - Self.controlRoom)
                guard room >= min(length, Self.leastPiece) || chunk.isEmpty else { return true }
                guard try producePiece(into: chunk, atMost: min(length, max(1, room))) else { return false }
                continue
            }
            let count = nextLength(atMost: min(length, Limits.dataBody))
            reader.skip(count)
            holes += count
            chunk.append(Hole(count: count))
            chunk.append(digest(ZeroBytes.prefix(count)))
            guard try !isComplete(wanted: count, got: count) else {
                try finish(chunk)
                return false
            }
        }
        return true
    }

    private func producePiece(into chunk: OutgoingChunk, atMost most: Int) throws(Failure) -> Bool {
        let length = nextLength(atMost: most)
        let header = FrameHeader.encodedSize(bodyLength: length)
        let payload = chunk.tail(from: header, count: length)
        let count = length > 0 ? try reader.read(into: payload) : 0
        let blocks = digest(UnsafeRawBufferPointer(rebasing: payload[..<count]))
        if count > 0 { chunk.appendData(offset: header, length: count) }
        chunk.append(blocks)
        guard try isComplete(wanted: length, got: count) else { return true }
        try finish(chunk)
        return false
    }

    /// - Returns: the frame with the digest of the block that the bytes complete; empty if they complete none.
    private func digest(_ content: UnsafeRawBufferPointer) -> [UInt8] {
        var blocks: [UInt8] = []
        digester.update(content) { index, digest in
            Message.block(BlockDigest(index: index, digest: Digest(function.plain, digest))).encode(into: &blocks)
            if pending.split != nil { blockDigests += digest }
        }
        return blocks
    }

    /// The length of the next piece: as much as possible up to the end of the block and of the content.
    private func nextLength(atMost most: Int) -> Int {
        let blockLeft = Limits.blockSize - Int(digester.size % UInt64(Limits.blockSize))
        let length = min(most, blockLeft)
        return Int(min(UInt64(length), (reader.size ?? 0) - digester.size))
    }

    private func isComplete(wanted: Int, got: Int) throws(Failure) -> Bool {
        guard got == wanted else { throw .changed }
        return digester.size == reader.size
    }

    private func finish(_ chunk: OutgoingChunk) throws(Failure) {
        try reader.checkUnchanged()
        let (digest, lastBlock) = digester.finish()
        if case .part(let split, let range) = pending.content {
            // A part of less than a block has one digest, that of the content.
            let last = blockDigests.isEmpty ? digest.bytes : lastBlock?.digest ?? []
            try split.keep(blockDigests + last, of: range)
        }
        var end: [UInt8] = []
        Message.end(End(size: digester.size, digest: digest)).encode(into: &end)
        chunk.append(end)
        chunk.ended.append((pending.id, digest))
    }
}
