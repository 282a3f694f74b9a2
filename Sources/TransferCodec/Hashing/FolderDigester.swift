package import TransferModel

/// Makes the digest of what is in one folder, by the names' order. It belongs to one task at a time.
package final class FolderDigester {
    private let hasher = BlockHasher(.xxh128)
    private var count: UInt32 = 0

    package init() {}

    /// Adds the upload of one file.
    package func add(_ id: UploadID) {
        withUnsafeBytes(of: (id.high.bigEndian, id.low.bigEndian)) { hasher.update($0) }
        // More than anybody can name are none that anybody has named.
        count = count.addingReportingOverflow(1).partialValue
    }

    /// The digest of what was added; it begins anew then.
    package func finish() -> FolderDigest {
        defer { count = 0 }
        return FolderDigest(count: count, bytes: hasher.finish())
    }
}
