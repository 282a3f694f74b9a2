package import TransferModel

/// Computes the digest of the uploads of a folder's files: the first 16 bytes of the SHA-256 of all uploads, in the
/// order of the bytes of their names. With SHA-256, no client can invent uploads whose digest equals one about which
/// another client has asked. One task at a time may use it.
package final class UploadListDigester {
    private let hasher = BlockHasher(.sha256)
    private var record: [UInt8] = []

    /// Number of uploads added so far, up to `UInt32.max`.
    package private(set) var count: UInt32 = 0

    package init() {}

    /// Adds the upload of the next file: its ID (16 bytes) and the number of bytes of the name (2 bytes), both in
    /// network byte order, and the name.
    package func add(_ id: UploadID, _ name: String) {
        record.removeAll(keepingCapacity: true)
        record.append(bigEndian: id.high)
        record.append(bigEndian: id.low)
        record.append(bigEndian: UInt16(clamping: name.utf8.count))
        record.append(contentsOf: name.utf8)
        record.withUnsafeBytes { hasher.update($0) }
        // The count stops at the maximum, which no folder reaches.
        if count < .max { count += 1 }
    }

    /// The digest of the uploads so far. Also resets the digester.
    package func finish() -> FolderDigest {
        defer { count = 0 }
        return FolderDigest(count: count, bytes: Array(hasher.finish().prefix(FolderDigest.size)))
    }
}
