package import TransferModel

/// Computes the digest of the uploads of a folder's files: the first 16 bytes of the SHA-256 of all of them, in the
/// order of the names' bytes. No client can invent uploads that match a digest that another client has asked about. It
/// belongs to one task at a time.
package final class UploadListDigester {
    private let hasher = BlockHasher(.sha256)
    private var record: [UInt8] = []

    /// Number of uploads added so far, up to `UInt32.max`.
    package private(set) var count: UInt32 = 0

    package init() {}

    /// Adds the upload of the next file: ID (16 bytes) and number of bytes of the name (2 bytes) in network byte order,
    /// and the name.
    package func add(_ id: UploadID, _ name: String) {
        record.removeAll(keepingCapacity: true)
        record.append(bigEndian: id.high)
        record.append(bigEndian: id.low)
        record.append(bigEndian: UInt16(clamping: name.utf8.count))
        record.append(contentsOf: name.utf8)
        record.withUnsafeBytes { hasher.update($0) }
        // Saturates: no folder has so many files.
        if count < .max { count += 1 }
    }

    /// The digest of the uploads so far; it begins again afterwards.
    package func finish() -> FolderDigest {
        defer { count = 0 }
        return FolderDigest(count: count, bytes: Array(hasher.finish().prefix(FolderDigest.size)))
    }
}
