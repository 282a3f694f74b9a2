/// One operand of a pull: what to fetch from the server, and under which name to store it here.
public struct Download: Sendable, Equatable {
    /// The path on the server, below the folder of the server's address.
    public var path: String

    /// The path below the directory that is pulled to. Nil means the last component of `path`; for a pattern, the path
    /// of each match from the first wildcard on. The contents of the server's folder itself go straight into the
    /// directory.
    public var name: String?

    /// Whether `path` may be a pattern with the syntax of `PathRule` and slashes between folders. If no entry has
    /// exactly this path, every match is pulled. A pattern with a slash at its end matches only folders.
    public var isPattern: Bool

    /// Creates an operand; by default it is no pattern and keeps its name.
    public init(_ path: String, name: String? = nil, isPattern: Bool = false) {
        (self.path, self.name, self.isPattern) = (path, name, isPattern)
    }

    /// Whether `path` has wildcards. It is no pattern in spite of them if an entry has exactly this path.
    package var hasWildcards: Bool { isPattern && PathGlob(path, ignoresCase: false) != nil }
}
