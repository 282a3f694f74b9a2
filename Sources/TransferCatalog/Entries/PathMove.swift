/// A file or folder that has got another path.
package struct PathMove: Equatable, Sendable {
    package let path: String
    package let target: String

    /// Whether all in it has moved as well.
    package let isFolder: Bool

    /// When it was moved; UTC, in nanoseconds since 1970. What was acknowledged under the path later is about another file.
    package let moment: Int64

    package init(_ path: String, to target: String, isFolder: Bool, at moment: Int64) {
        (self.path, self.target, self.isFolder, self.moment) = (path, target, isFolder, moment)
    }
}
