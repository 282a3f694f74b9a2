package import TransferModel

/// A file that this server has changed on purpose, but not its content: what it is known by from now on.
package struct VersionChange: Equatable, Sendable {
    /// Where it is now.
    package let path: String
    package let before: ContentVersion
    package let after: ContentVersion

    package init(path: String, before: ContentVersion, after: ContentVersion) {
        (self.path, self.before, self.after) = (path, before, after)
    }
}
