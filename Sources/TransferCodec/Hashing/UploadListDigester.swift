package import TransferModel

/// Makes the digest of the uploads of one folder's files: the first 16 bytes of the SHA-256 of all of them, in the order of the
/// names' bytes. Nobody can make up uploads that fit a digest which somebody else has asked about. It belongs to one task at a
/// time.
package final class UploadListDigester {
    private let hasher = BlockHasher(.sha256)
    private var record: [UInt8] = []

    /// Uploads that were added; as many as can be counted.
    package private(set) var count: UInt32 = 0

    package init() {}

    /// Adds the upload of the next file: its id (16 bytes) and the bytes of its name (2 bytes) in network byte order, and the name.
    package func add(_ id: UploadID, _ name: String) {
        record.removeAll(keepingCapacity: true)
        record.append(bigEndian: id.high)
        record.append(bigEndian: id.low)
        record.append(bigEndian: UInt16(clamping: name.utf8.count))
        record.append(contentsOf: name.utf8)
        record.withUnsafeBytes { hasher.update($0) }
        // More than anybody can name are none that anybody has named.
        if count < .max { count += 1 }
    }

    /// The digest of what was added; it begins anew then.
    package func finish() -> FolderDigest {
        defer { count = 0 }
        return FolderDigest(count: count, bytes: Array(hasher.finish().prefix(FolderDigest.size)))
    }
}
