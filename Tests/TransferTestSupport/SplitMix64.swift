/// A random generator with a seed, so that a failing test fails again (Steele et al., OOPSLA 2014).
package struct SplitMix64: RandomNumberGenerator, Sendable {
    private var state: UInt64

    package init(seed: UInt64) {
        state = seed
    }

    package mutating func next() -> UInt64 {
        state &+= 0x9e37_79b9_7f4a_7c15
        var word = state
        word = (word ^ (word >> 30)) &* 0xbf58_476d_1ce4_e5b9
        word = (word ^ (word >> 27)) &* 0x94d0_49bb_1331_11eb
        return word ^ (word >> 31)
    }

    /// The next `count` bytes. The last of them use up a whole word.
    package mutating func bytes(_ count: Int) -> [UInt8] {
        var words: [UInt64] = []
        words.reserveCapacity((count + 7) / 8)
        while words.count * 8 < count { words.append(next()) }
        return words.withUnsafeBytes { Array($0.prefix(count)) }
    }

    /// The first `count` bytes of the generator with that seed.
    package static func bytes(seed: UInt64, _ count: Int) -> [UInt8] {
        var generator = SplitMix64(seed: seed)
        return generator.bytes(count)
    }
}
