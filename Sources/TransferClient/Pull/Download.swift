/// Something to pull.
public struct Download: Sendable, Equatable {
    /// On the server, below the folder of its address.
    public var path: String

    /// Where to have it below the directory that is pulled to; nothing for what its path is called at the end, and of a pattern
    /// for what is found from its first wildcard on. The content of the server's folder itself goes straight into the directory.
    public var name: String?

    /// Whether `path` may be a pattern, as `PathRule` has them, with slashes between folders: if there is nothing under it as it
    /// stands, all that it matches is pulled. Then a slash at its end makes it match folders only.
    public var isPattern: Bool

    /// Makes one.
    public init(_ path: String, name: String? = nil, isPattern: Bool = false) {
        (self.path, self.name, self.isPattern) = (path, name, isPattern)
    }

    /// Whether it is a pattern, unless something is called so.
    package var hasWildcards: Bool { isPattern && PathGlob(path, ignoresCase: false) != nil }
}
