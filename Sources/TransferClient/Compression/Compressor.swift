import TransferCodec

/// Deflates the content of chunks.
///
/// `@unchecked Sendable`: its pool lends it to one thread at a time.
final class Compressor: @unchecked Sendable {
    /// Shorter content has nothing to gain that the frame doesn't cost again.
    private static let shortest = 64

    /// Content from this size on is tried on a sample first, its first bytes: what doesn't shrink there rarely does
    /// later, and is found out for a sixteenth of the cost.
    private static let sampledSize = 64 << 10
    private static let sampleSize = 16 << 10

    private let deflater: Deflater
    private let scratch = UnsafeMutableRawBufferPointer.allocate(byteCount: OutgoingChunk.payloadSize, alignment: 64)

    init(level: Int) {
        deflater = Deflater(level: level)
    }

    deinit {
        scratch.deallocate()
    }

    /// Bytes of content that the codec is measured with.
    private static let measuredBytes = 64 << 10

    /// Deflates some of the chunk's content, and leaves it as it is.
    ///
    /// - Returns: how many bytes.
    func rehearse(_ chunk: OutgoingChunk) -> Int {
        var left = Self.measuredBytes
        for content in chunk.contents where left > 0 {
            let piece = UnsafeRawBufferPointer(rebasing: content[..<min(left, content.count)])
            _ = shorten(piece)
            left -= piece.count
        }
        return Self.measuredBytes - left
    }

    func compress(_ chunk: OutgoingChunk) {
        chunk.compress { content in
            guard content.count >= Self.shortest, isPromising(content) else { return nil }
            return shorten(content)
        }
    }

    private func isPromising(_ content: UnsafeRawBufferPointer) -> Bool {
        guard content.count >= Self.sampledSize else { return true }
        return shorten(UnsafeRawBufferPointer(rebasing: content[..<Self.sampleSize])) != nil
    }

    /// - Returns: the zlib stream, valid until the next call; nothing when it would not save 5 %: that little is not
    ///   worth the receiver's work.
    private func shorten(_ content: UnsafeRawBufferPointer) -> UnsafeRawBufferPointer? {
        let limit = content.count - content.count / 20
        let output = UnsafeMutableRawBufferPointer(rebasing: scratch[..<min(limit, scratch.count)])
        return deflater.deflate(content, into: output).map { UnsafeRawBufferPointer(rebasing: output[..<$0]) }
    }
}
