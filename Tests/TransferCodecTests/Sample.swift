/// Content for tests, the same at every run.
enum Sample {
    /// What the digest vectors were made from: byte `i` is the low byte of `(i * 131) ^ (i >> 8)`.
    static func pattern(_ count: Int) -> [UInt8] {
        [UInt8](unsafeUninitializedCapacity: count) { buffer, filled in
            for index in 0..<count {
                buffer.initializeElement(at: index, to: UInt8(truncatingIfNeeded: (index &* 131) ^ (index >> 8)))
            }
            filled = count
        }
    }

    /// Bytes that no compressor shrinks.
    static func random(_ count: Int, seed: UInt64 = 1) -> [UInt8] {
        var generator = SplitMix64(seed: seed)
        return words((count + 7) / 8, count) { generator.next() }
    }

    /// Bytes that shrink to about a third: few different values, with repeats.
    static func compressible(_ count: Int, seed: UInt64 = 1) -> [UInt8] {
        var generator = SplitMix64(seed: seed)
        let phrases = (0..<16).map { _ in generator.next() & 0x0f0f_0f0f_0f0f_0f0f }
        return words((count + 7) / 8, count) { phrases.randomElement(using: &generator) ?? 0 }
    }

    private static func words(_ words: Int, _ count: Int, _ next: () -> UInt64) -> [UInt8] {
        let filled = (0..<words).map { _ in next() }
        return filled.withUnsafeBytes { Array($0.prefix(count)) }
    }
}
