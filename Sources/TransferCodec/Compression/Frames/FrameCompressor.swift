import TransferSystem

/// Compresses the content of frames by one method, if that makes them smaller.
///
/// `@unchecked Sendable`: its pool lends it to one thread at a time.
package final class FrameCompressor: @unchecked Sendable {
    /// Most bytes of content in a compressed frame.
    package static let mostContent = 256 << 10

    /// Bytes of the shortest content that is compressed; shorter content cannot save more than the frame costs.
    private static let shortest = 64

    /// Bytes from which on content is first tried with a sample, its first bytes. Content whose sample doesn't shrink
    /// rarely shrinks later, and the sample costs at most a quarter of the time.
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

    /// - Returns: the content as one compressed frame, valid until the next call; nil if that would save less than 5 %,
    ///   which is not worth the receiver's work.
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

    /// Compresses content only to measure speed and ratio. The time is the processor time of the thread: compressing
    /// takes a few milliseconds, and one time slice of another program would make a codec look half as fast.
    func measure(_ content: UnsafeRawBufferPointer) -> (nanoseconds: Int64, after: Int) {
        let start = threadNanoseconds()
        let after = compress(content)?.count ?? content.count
        return (max(1, threadNanoseconds() - start), after)
    }
}
