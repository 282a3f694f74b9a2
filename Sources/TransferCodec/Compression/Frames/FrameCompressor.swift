import TransferSystem

/// Compresses the content of frames by one method, where that makes them smaller.
///
/// `@unchecked Sendable`: its pool lends it to one thread at a time.
package final class FrameCompressor: @unchecked Sendable {
    /// Bytes of content in a frame that is compressed, at most.
    package static let mostContent = 256 << 10

    /// Shorter content has nothing to gain that the frame doesn't cost again.
    private static let shortest = 64

    /// Content from this size on is tried on a sample first, its first bytes: what doesn't shrink there rarely does
    /// later, and is found out for a sixteenth of the cost.
    private static let sampledSize = 64 << 10
    private static let sampleSize = 16 << 10

    private let engine: any DeflateEngine
    private let scratch = UnsafeMutableRawBufferPointer.allocate(byteCount: mostContent, alignment: 64)

    init(_ method: CompressionMethod) {
        engine =
            switch method.format {
            case .zlib: Deflater(level: method.level)
            case .zstd: ZstdEncoder(level: method.level)
            }
    }

    deinit {
        scratch.deallocate()
    }

    /// - Returns: the content as one compressed frame, valid until the next call; nothing when that would not save 5 %: so
    ///   little is not worth the receiver's work.
    package func compress(_ content: UnsafeRawBufferPointer) -> UnsafeRawBufferPointer? {
        guard content.count >= Self.shortest, isPromising(content) else { return nil }
        return shorten(content)
    }

    private func isPromising(_ content: UnsafeRawBufferPointer) -> Bool {
        guard content.count >= Self.sampledSize else { return true }
        return shorten(UnsafeRawBufferPointer(rebasing: content[..<Self.sampleSize])) != nil
    }

    private func shorten(_ content: UnsafeRawBufferPointer) -> UnsafeRawBufferPointer? {
        let limit = content.count - content.count / 20
        let output = UnsafeMutableRawBufferPointer(rebasing: scratch[..<min(limit, scratch.count)])
        guard !output.isEmpty else { return nil }
        return engine.deflate(content, into: output).map { UnsafeRawBufferPointer(rebasing: output[..<$0]) }
    }

    /// Compresses some content for nothing but to see how fast that goes and how small it becomes. The time is that of the
    /// thread: it takes a few milliseconds, and one time slice of another program would look like a codec half as fast.
    func measure(_ content: UnsafeRawBufferPointer) -> (nanoseconds: Int64, after: Int) {
        let start = threadNanoseconds()
        let after = compress(content)?.count ?? content.count
        return (max(1, threadNanoseconds() - start), after)
    }
}
