/// A file or link that was replaced and is now in the trash.
package struct KeptFile: Hashable, Sendable {
    /// Its path in the trash.
    package let place: RelativePath

    /// The batch of the trash that contains it.
    package let batch: TrashBatch

    /// The versions of the file under its old path and in the trash, which differ because it got one name and lost
    /// another. Nil for a symbolic link, and for a file that could not be examined.
    package let version: Versions?

    /// Versions of a file before and after it was replaced.
    package struct Versions: Hashable, Sendable {
        package let before: ContentVersion
        package let after: ContentVersion

        package init(before: ContentVersion, after: ContentVersion) { (self.before, self.after) = (before, after) }
    }

    package init(place: RelativePath, in batch: TrashBatch, version: Versions?) {
        (self.place, self.batch, self.version) = (place, batch, version)
    }
}

/// A file that kept its path but had a second name in the trash for a moment. This changes its version.
package struct TouchedFile: Hashable, Sendable {
    package let path: RelativePath
    package let versions: KeptFile.Versions

    package init(_ path: RelativePath, _ versions: KeptFile.Versions) { (self.path, self.versions) = (path, versions) }
}
