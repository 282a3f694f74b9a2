import Glibc

/// An absolute path in which the symbolic links of the existing part are resolved.
package struct CanonicalPath: Sendable {
    package let string: String

    package init(_ path: String) {
        string = Self.canonical(path)
    }

    /// Whether this path equals another one or is below it.
    package func isWithin(_ other: CanonicalPath) -> Bool {
        // Compares bytes, because equal strings can be different names.
        let bytes = string.utf8
        return bytes.elementsEqual(other.string.utf8)
            || bytes.starts(with: (other.string == "/" ? "/" : other.string + "/").utf8)
    }

    private static func canonical(_ path: String) -> String {
        if let resolved = realpath(path, nil) {
            defer { free(resolved) }
            return String(cString: resolved)
        }
        let parent = OwnFile.folder(of: path)
        guard parent != path, let name = path.utf8.split(separator: UInt8(ascii: "/")).last.map({ Substring($0) })
        else { return path }
        let folder = canonical(parent)
        return folder == "/" ? "/\(name)" : "\(folder)/\(name)"
    }
}
