import TransferSystem

/// Shared compressors. Each is lent for the content of one chunk, so there are never more of them than threads that
/// compress.
package final class CompressorPool: Sendable {
    /// Most idle compressors of all methods together. They take at most some 20 MB with the methods of `auto`.
    private static let mostIdle = 12

    private let idle = Locked<[(method: CompressionMethod, compressor: FrameCompressor)]>([])

    package init() {}

    /// - Parameter body: must not keep the compressor after it returns.
    package func lend<T, E: Error>(
        _ method: CompressionMethod, _ body: (FrameCompressor) throws(E) -> T
    ) throws(E) -> T {
        let compressor = take(method) ?? FrameCompressor(method)
        defer { idle.withLock { if $0.count < Self.mostIdle { $0.append((method, compressor)) } } }
        return try body(compressor)
    }

    private func take(_ method: CompressionMethod) -> FrameCompressor? {
        idle.withLock { idle in
            idle.lastIndex { $0.method == method }.map { idle.remove(at: $0).compressor }
        }
    }

    /// Measures methods with the same content, on the calling thread.
    ///
    /// - Parameter bytes: how many bytes of the content to use, from the beginning; at most
    ///   `FrameCompressor.mostContent`.
    package func measure(
        _ methods: [CompressionMethod], with content: UnsafeRawBufferPointer, bytes: Int
    ) -> [CompressionFigures] {
        let content = UnsafeRawBufferPointer(rebasing: content.prefix(min(bytes, FrameCompressor.mostContent)))
        return methods.map { method in
            let (nanoseconds, after) = lend(method) { $0.measure(content) }
            return CompressionFigures(
                method: method, rate: Double(content.count) * 1e9 / Double(nanoseconds),
                ratio: Double(after) / Double(max(1, content.count)))
        }
    }
}
