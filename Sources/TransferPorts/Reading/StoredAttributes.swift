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

/// A file, folder or symbolic link with all that is kept of it.
package struct WholeEntry: Sendable {
    package let path: RelativePath
    package let attributes: StoredAttributes

    /// What a symbolic link says; nil for a file or folder.
    package let target: [UInt8]?

    /// Which object of the store it is a name of.
    package let object: FileObject

    /// Names of a file; 1 for anything else.
    package let names: UInt32

    package let extra: ExtraAttributes

    /// Whether it has extended attributes that are not here: more than are kept, or some that this process may not read.
    package let isPartial: Bool

    package init(
        _ path: RelativePath, _ attributes: StoredAttributes, target: [UInt8]? = nil, object: FileObject,
        names: UInt32 = 1,
        extra: ExtraAttributes, isPartial: Bool = false
    ) {
        (self.path, self.attributes, self.target, self.object) = (path, attributes, target, object)
        (self.names, self.extra, self.isPartial) = (names, extra, isPartial)
    }
}

/// What tells a file, folder or link from all others of a tree, as long as it is there.
package struct FileObject: Hashable, Sendable {
    /// Which part of the store it is in.
    package let volume: UInt64

    /// Which of all in that part.
    package let number: UInt64

    package init(volume: UInt64, number: UInt64) { (self.volume, self.number) = (volume, number) }
}
