package import TransferModel

/// A file that has got one more name: what was acknowledged of its content holds for that, too.
package struct PathLink: Equatable, Sendable {
    package let path: String
    package let target: String

    /// The file as it was acknowledged, and as it is.
    package let before: ContentVersion
    package let after: ContentVersion

    /// When it was made; UTC, in nanoseconds since 1970.
    package let moment: Int64

    package init(_ path: String, as target: String, before: ContentVersion, after: ContentVersion, at moment: Int64) {
        (self.path, self.target, self.before, self.after, self.moment) = (path, target, before, after, moment)
    }
}
