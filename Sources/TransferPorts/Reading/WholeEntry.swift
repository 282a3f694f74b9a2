package import TransferModel

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
