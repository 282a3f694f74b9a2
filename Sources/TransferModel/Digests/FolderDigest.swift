/// What stands for all that is in one folder when two sides compare it.
package struct FolderDigest: Equatable, Sendable {
    /// How many there are.
    package let count: UInt32

    /// `size` bytes, made by a `FolderDigester` or an `UploadListDigester`.
    package let bytes: [UInt8]

    /// Bytes of the digest.
    package static let size = 16

    package init(count: UInt32, bytes: [UInt8]) {
        (self.count, self.bytes) = (count, bytes)
    }
}
