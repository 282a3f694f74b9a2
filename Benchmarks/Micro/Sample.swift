import TransferTestSupport

/// Content for the measurements, identical in every run.
enum Sample {
    /// Bytes that cannot be compressed.
    static func random(_ count: Int) -> [UInt8] {
        var generator = SplitMix64(seed: 1)
        return generator.bytes(count)
    }

    /// Lines of a log, with words from a vocabulary of a few thousand.
    static func log(_ count: Int) -> [UInt8] {
        var generator = SplitMix64(seed: 7)
        let vocabulary = (0..<4000).map { _ in word(&generator) }
        var text = ""
        while text.utf8.count < count {
            let words = (0..<4).map { _ in vocabulary[Int.random(in: 0..<vocabulary.count, using: &generator)] }
            let (second, value) = (
                Int.random(in: 10...59, using: &generator), Int.random(in: 0...99_999, using: &generator)
            )
            text += "2026-11-20T10:21:\(second) \(words[0]) \(words[1]) \(words[2])=\(value) \(words[3])\n"
        }
        return Array(text.utf8.prefix(count))
    }

    private static func word(_ generator: inout SplitMix64) -> String {
        let letters = Array("abcdefghijklmnopqrstuvwxyz")
        return String(
            (0..<Int.random(in: 2...9, using: &generator)).map { _ in letters.randomElement(using: &generator) ?? "a" })
    }
}
