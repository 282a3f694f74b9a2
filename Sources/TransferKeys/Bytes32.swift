/// 32 bytes: a hash, a public key or the seed of a private one. No allocation, unlike an array.
package struct Bytes32: Hashable, Sendable {
    /// The number of bytes in a value.
    package static let count = 32

    // Not one vector of 32 bytes: Swift 6.3 corrupts values of such alignment on the stacks of tasks.
    private var low = SIMD2<UInt64>()
    private var high = SIMD2<UInt64>()

    /// Makes a value of zero bytes.
    package init() {}

    /// - Parameter bytes: exactly 32; nil for any other number.
    package init?(_ bytes: some Collection<UInt8>) {
        guard bytes.count == Self.count else { return nil }
        withUnsafeMutableBytes { $0.copyBytes(from: bytes) }
    }

    package func withUnsafeBytes<Result>(_ body: (UnsafeRawBufferPointer) -> Result) -> Result {
        Swift.withUnsafeBytes(of: self, body)
    }

    package mutating func withUnsafeMutableBytes<Result>(_ body: (UnsafeMutableRawBufferPointer) -> Result) -> Result {
        Swift.withUnsafeMutableBytes(of: &self, body)
    }

    package var bytes: [UInt8] { withUnsafeBytes { Array($0) } }
}
