/// A digest of a path or name, for places that remember many: 128 bits under a key that is random in each process
/// (`Hasher` is SipHash). A client that doesn't know the key cannot choose names that collide, and among a million
/// names the probability of a collision is 10^-26; 64 bits would be too few to decide what happens to a file.
package struct PathDigest: Hashable, Sendable {
    private let high: Int
    private let low: Int

    package init(_ path: String) {
        high = Self.half(path, 1)
        low = Self.half(path, 2)
    }

    /// Hashes one half, which is distributed evenly by itself.
    package func hash(into hasher: inout Hasher) { hasher.combine(low) }

    /// - Parameter number: distinguishes the two halves, which are independent hashes of the same bytes.
    private static func half(_ path: String, _ number: UInt8) -> Int {
        var hasher = Hasher()
        hasher.combine(number)
        path.hashBytes(into: &hasher)
        return hasher.finalize()
    }
}
