import Glibc

/// A path from the root, without links, as far as there is something under it.
package struct CanonicalPath: Sendable {
    package let string: String

    package init(_ path: String) {
        string = Self.canonical(path)
    }

    /// Whether it is another path or below that.
    package func isWithin(_ other: CanonicalPath) -> Bool {
        string == other.string || string.hasPrefix(other.string == "/" ? "/" : other.string + "/")
    }

    private static func canonical(_ path: String) -> String {
        if let resolved = realpath(path, nil) {
            defer { free(resolved) }
            return String(cString: resolved)
        }
        let parent = OwnFile.folder(of: path)
        guard parent != path, let name = path.split(separator: "/").last else { return path }
        let folder = canonical(parent)
        return folder == "/" ? "/\(name)" : "\(folder)/\(name)"
    }
}
