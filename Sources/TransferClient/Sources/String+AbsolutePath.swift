import Glibc

extension String {
    /// The path from the root, without empty components and `.`. Components `..` and links stay: only the file system
    /// knows where they lead.
    package var absolutePath: String {
        var path: [UInt8] = []
        if utf8.first != UInt8(ascii: "/") { path.append(components: WorkingDirectory.path.utf8) }
        path.append(components: utf8)
        return String(decoding: path, as: UTF8.self)
    }
}

extension [UInt8] {
    /// Appends the components of a path except empty ones and `.`, each after a slash.
    fileprivate mutating func append(components path: String.UTF8View) {
        let slash = UInt8(ascii: "/")
        reserveCapacity(count + path.count + 1)
        var start = count
        for byte in path {
            if byte == slash {
                endComponent(from: start)
                start = count
            } else {
                if count == start { append(slash) }
                append(byte)
            }
        }
        endComponent(from: start)
    }

    /// Removes the last component if it is `.`.
    private mutating func endComponent(from start: Int) {
        if count == start + 2, self[start + 1] == UInt8(ascii: ".") { removeLast(2) }
    }
}

/// The current directory, which relative paths start from; read once.
private enum WorkingDirectory {
    static let path: String = {
        guard let path = getcwd(nil, 0) else { return "" }
        defer { free(path) }
        return String(cString: path)
    }()
}
