/// One digest of all items in a folder, so that two sides can compare the folder.
package struct FolderDigest: Equatable, Sendable {
    /// Number of items in the folder.
    package let count: UInt32

    /// `size` bytes, made by a `FolderDigester` or an `UploadListDigester`.
    package let bytes: [UInt8]

    /// Size of the digest in bytes.
    package static let size = 16

    package init(count: UInt32, bytes: [UInt8]) {
        (self.count, self.bytes) = (count, bytes)
    }
}
