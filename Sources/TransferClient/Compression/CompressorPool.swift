import TransferSystem

/// The compressors of one push, as many as were ever at work at once. The chunks of a lane are deflated by several at a
/// time.
final class CompressorPool: Sendable {
    private let level: Int
    private let idle = Locked<[Compressor]>([])

    /// - Parameter level: as `Deflater` knows it.
    init(level: Int) {
        self.level = level
    }

    /// Deflates a chunk on the calling thread.
    ///
    /// - Returns: bytes before and after.
    func compress(_ chunk: OutgoingChunk) -> (before: Int, after: Int) {
        let before = chunk.count
        lend { $0.compress(chunk) }
        return (before, chunk.count)
    }

    /// Measures the codec with content of a chunk, on the calling thread.
    ///
    /// - Returns: bytes per second.
    func rate(of chunk: OutgoingChunk) -> Double {
        lend { compressor in
            let start = monotonicNanoseconds()
            let count = compressor.rehearse(chunk)
            return Double(count) * 1e9 / Double(max(1, monotonicNanoseconds() - start))
        }
    }

    private func lend<T>(_ body: (Compressor) -> T) -> T {
        let compressor = idle.withLock { $0.popLast() } ?? Compressor(level: level)
        defer { idle.withLock { $0.append(compressor) } }
        return body(compressor)
    }
}
