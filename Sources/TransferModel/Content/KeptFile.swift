/// A file or link that was replaced and is now in the trash.
package struct KeptFile: Hashable, Sendable {
    /// Its path in the trash.
    package let place: RelativePath

    /// The batch of the trash that has it.
    package let batch: TrashBatch

    /// Its versions under its old path and in the trash; they differ because it got and lost a name. Nil for a symbolic
    /// link, and if the file could not be examined.
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

/// A file that still has its path but had a second name in the trash for a moment, which changes its version.
package struct TouchedFile: Hashable, Sendable {
    package let path: RelativePath
    package let versions: KeptFile.Versions

    package init(_ path: RelativePath, _ versions: KeptFile.Versions) { (self.path, self.versions) = (path, versions) }
}
