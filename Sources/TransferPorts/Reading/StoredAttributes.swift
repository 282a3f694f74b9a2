import TransferCodec
package import TransferModel

/// The attributes of a stored file or directory, without its content.
package struct StoredAttributes: Equatable, Sendable {
    package let isDirectory: Bool

    /// Bytes; 0 for a directory.
    package let size: UInt64

    package let modified: Timestamp

    /// Permission bits, from 0 to 0o777.
    package let permissions: UInt16

    package let version: ContentVersion

    /// Whether the time of modification was set, as a pull does. Otherwise it is the time of the last change.
    package let hasGivenTime: Bool

    package init(
        isDirectory: Bool, size: UInt64, modified: Timestamp, permissions: UInt16, version: ContentVersion,
        hasGivenTime: Bool
    ) {
        (self.isDirectory, self.size, self.modified) = (isDirectory, size, modified)
        (self.permissions, self.version, self.hasGivenTime) = (permissions, version, hasGivenTime)
    }

    /// The version that clients receive.
    package var fileVersion: FileVersion { isDirectory ? .none : version.told }
}

extension ContentVersion {
    /// The version of a file or link that clients receive: it changes whenever the content may have changed.
    /// Permissions and names do not change it, so that a client can resume a download.
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

/// A file, folder or symbolic link with everything that is stored of it.
package struct WholeEntry: Sendable {
    package let path: RelativePath
    package let attributes: StoredAttributes

    /// The target of a symbolic link; nil for a file or folder.
    package let target: [UInt8]?

    /// The object of the store that has this path as a name.
    package let object: FileObject

    /// Number of names of a file; 1 for anything else.
    package let names: UInt32

    package let extra: ExtraAttributes

    /// Whether the entry has extended attributes that are missing in `extra`: more than are kept, or some that this
    /// process may not read.
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

/// Identifies a file, folder or link of a tree as long as it exists.
package struct FileObject: Hashable, Sendable {
    /// The part of the store that it is in.
    package let volume: UInt64

    /// The number of the object in that part.
    package let number: UInt64

    package init(volume: UInt64, number: UInt64) { (self.volume, self.number) = (volume, number) }
}
