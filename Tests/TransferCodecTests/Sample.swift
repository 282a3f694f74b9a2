/// Content for tests, equal in every run.
enum Sample {
    /// The content of the digest vectors: byte `i` is the low byte of `(i * 131) ^ (i >> 8)`.
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

    /// Lines like those of a log: a date, words from a small vocabulary, numbers.
    static func text(_ count: Int, seed: UInt64 = 1) -> [UInt8] {
        var generator = SplitMix64(seed: seed)
        let words = (0..<200).map { _ in
            (0..<Int.random(in: 2...9, using: &generator)).map { _ in UInt8.random(in: 97...122, using: &generator) }
        }
        var text: [UInt8] = []
        while text.count < count {
            text += Array("2026-11-20T10:42:".utf8)
            for _ in 0..<4 { text += (words.randomElement(using: &generator) ?? []) + [0x20] }
            text += Array("\(Int.random(in: 0..<100_000, using: &generator))\n".utf8)
        }
        return Array(text.prefix(count))
    }

    /// Runs of one byte each, of 1 to 5,000 bytes.
    static func runs(_ count: Int, seed: UInt64 = 1) -> [UInt8] {
        var generator = SplitMix64(seed: seed)
        var runs: [UInt8] = []
        while runs.count < count {
            let byte = UInt8.random(in: 0...255, using: &generator)
            runs += repeatElement(byte, count: Int.random(in: 1...5000, using: &generator))
        }
        return Array(runs.prefix(count))
    }

    /// Content of every kind, `count` bytes each.
    static func kinds(_ count: Int, seed: UInt64 = 1) -> [[UInt8]] {
        [
            random(count, seed: seed), compressible(count, seed: seed), text(count, seed: seed),
            runs(count, seed: seed), [UInt8](repeating: 0, count: count), [UInt8](repeating: 0xff, count: count),
        ]
    }

    private static func words(_ words: Int, _ count: Int, _ next: () -> UInt64) -> [UInt8] {
        let filled = (0..<words).map { _ in next() }
        return filled.withUnsafeBytes { Array($0.prefix(count)) }
    }
}
