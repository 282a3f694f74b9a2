/// Stands for a path or a name where many have to be remembered: 128 bits of its bytes, under a key that is random in each
/// process (`Hasher` is SipHash). Nobody who doesn't know the key can choose two names that meet, and among a million names
/// two do once in 10^26 times; 64 bits would be too few to decide what happens to a file.
package struct PathDigest: Hashable, Sendable {
    private let high: Int
    private let low: Int

    package init(_ path: String) {
        high = Self.half(path, 1)
        low = Self.half(path, 2)
    }

    /// Of one half, which is spread evenly by itself.
    package func hash(into hasher: inout Hasher) { hasher.combine(low) }

    /// - Parameter number: of the half; both are of the same bytes and have nothing in common.
    private static func half(_ path: String, _ number: UInt8) -> Int {
        var hasher = Hasher()
        hasher.combine(number)
        path.hashBytes(into: &hasher)
        return hasher.finalize()
    }
}
