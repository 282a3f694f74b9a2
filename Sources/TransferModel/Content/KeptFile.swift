/// What has given way to something else, and is in the trash from then on.
package struct KeptFile: Hashable, Sendable {
    /// Where it is.
    package let place: RelativePath

    /// The part of the trash that it is in.
    package let batch: TrashBatch

    /// What it was when it had its path, and what it is in the trash: it has got and lost a name. Nil for a symbolic link, and where
    /// that could not be looked at.
    package let version: Versions?

    /// A file before and after it has given way.
    package struct Versions: Hashable, Sendable {
        package let before: ContentVersion
        package let after: ContentVersion

        package init(before: ContentVersion, after: ContentVersion) { (self.before, self.after) = (before, after) }
    }

    package init(place: RelativePath, in batch: TrashBatch, version: Versions?) {
        (self.place, self.batch, self.version) = (place, batch, version)
    }
}

/// A file that has its path still, and had a second name in the trash for a while: that makes it another version.
package struct TouchedFile: Hashable, Sendable {
    package let path: RelativePath
    package let versions: KeptFile.Versions

    package init(_ path: RelativePath, _ versions: KeptFile.Versions) { (self.path, self.versions) = (path, versions) }
}
