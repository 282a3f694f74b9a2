package import TransferModel

/// A file that is gone.
package struct RemovedFile: Sendable {
    package let path: RelativePath
    package let version: ContentVersion

    /// Whether its content is gone, and not only one of several names.
    package let isLast: Bool

    package init(path: RelativePath, version: ContentVersion, isLast: Bool) {
        (self.path, self.version, self.isLast) = (path, version, isLast)
    }
}
