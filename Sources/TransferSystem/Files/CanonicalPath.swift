import Glibc

/// A path from the root, without links, as far as there is something under it.
package struct CanonicalPath: Sendable {
    package let string: String

    package init(_ path: String) {
        string = Self.canonical(path)
    }

    /// Whether it is another path or below that.
    package func isWithin(_ other: CanonicalPath) -> Bool {
        // Byte by byte: equal strings can be two names.
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
