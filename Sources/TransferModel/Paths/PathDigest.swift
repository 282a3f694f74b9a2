/// A digest of a path or name, for code that remembers many of them: 128 bits under a key that is random in each
/// process (`Hasher` is SipHash). A client that doesn't know the key cannot choose names that collide, and among a
/// million names the probability of a collision is 10^-26. With 64 bits it would be too high to decide what happens to
/// a file.
package struct PathDigest: Hashable, Sendable {
    private let high: Int
    private let low: Int

    package init(_ path: String) {
        high = Self.half(path, 1)
        low = Self.half(path, 2)
    }

    /// Hashes only one half, because its values are already distributed evenly.
    package func hash(into hasher: inout Hasher) { hasher.combine(low) }

    /// - Parameter number: distinguishes the two halves, so that they are independent hashes of the same bytes.
    private static func half(_ path: String, _ number: UInt8) -> Int {
        var hasher = Hasher()
        hasher.combine(number)
        path.hashBytes(into: &hasher)
        return hasher.finalize()
    }
}
