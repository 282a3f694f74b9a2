/// What stands for all that is in one folder when two sides compare it.
package struct FolderDigest: Equatable, Sendable {
    /// How many there are.
    package let count: UInt32

    /// The sum of the XXH128 of each, modulo 2^128, in network byte order: `size` bytes.
    package let bytes: [UInt8]

    /// Bytes of the digest.
    package static let size = 16

    package init(count: UInt32, bytes: [UInt8]) {
        (self.count, self.bytes) = (count, bytes)
    }
}
