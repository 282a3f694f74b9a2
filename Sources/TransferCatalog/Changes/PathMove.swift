/// A file or folder that has got another path.
package struct PathMove: Equatable, Sendable {
    package let path: String
    package let target: String

    /// Which file was moved; nothing for a folder, in which all has moved as well.
    package let object: UInt64?

    /// `ContentVersion.revision` of the file before it was moved; nil if unknown. A mark of rot with another revision describes content
    /// that the file no longer has.
    package let revision: Int64?

    /// When it was moved; UTC, in nanoseconds since 1970. What was acknowledged under the path later is about another file, unless
    /// it says that it is about this one.
    package let moment: Int64

    /// The same, where nothing but what says that it is about this file goes along: what has given way leaves behind what is known of the
    /// file that takes its path, which may have been there before.
    package var alone: PathMove { PathMove(path, to: target, object: object, revision: revision, at: .min) }

    /// Whether nothing but what says that it is about this file goes along.
    var isAlone: Bool { moment == .min }

    package init(_ path: String, to target: String, object: UInt64? = nil, revision: Int64? = nil, at moment: Int64) {
        (self.path, self.target, self.object, self.revision, self.moment) = (path, target, object, revision, moment)
    }
}
