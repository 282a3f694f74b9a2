import TransferCodec
package import TransferModel

/// What a stored file or directory is, without a look at its content.
package struct StoredAttributes: Equatable, Sendable {
    package let isDirectory: Bool

    /// Bytes; 0 for a directory.
    package let size: UInt64

    package let modified: Timestamp

    /// 0 to 0o777.
    package let permissions: UInt16

    package let version: ContentVersion

    /// Whether somebody gave it its time of modification, as a pull does: what is only written has that of its last change.
    package let hasGivenTime: Bool

    package init(
        isDirectory: Bool, size: UInt64, modified: Timestamp, permissions: UInt16, version: ContentVersion,
        hasGivenTime: Bool
    ) {
        (self.isDirectory, self.size, self.modified) = (isDirectory, size, modified)
        (self.permissions, self.version, self.hasGivenTime) = (permissions, version, hasGivenTime)
    }

    /// What clients are told.
    package var fileVersion: FileVersion { isDirectory ? .none : version.told }
}

extension ContentVersion {
    /// What clients are told of a file or link: changes whenever the content may have. Not with the permissions or names of a file:
    /// whoever has half of it can go on with it.
    package var told: FileVersion {
        let facts = (object.bigEndian, revision.bigEndian, size.bigEndian)
        let digest = withUnsafeBytes(of: facts) { BlockHasher.digest(.xxh128, $0) }
        return digest.withUnsafeBytes { bytes in
            FileVersion(
                high: UInt64(bigEndian: bytes.loadUnaligned(as: UInt64.self)),
                low: UInt64(bigEndian: bytes.loadUnaligned(fromByteOffset: 8, as: UInt64.self)))
        }
    }
}
