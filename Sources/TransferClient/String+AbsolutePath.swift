import Glibc

extension String {
    /// The path from the root, without components that say nothing. `..` and links stay: only the file system can tell where
    /// they lead.
    var absolutePath: String {
        let isAbsolute = utf8.first == UInt8(ascii: "/")
        let whole = isAbsolute ? self : WorkingDirectory.path + "/" + self
        let components = whole.utf8.split(separator: UInt8(ascii: "/")).filter { !$0.elementsEqual(".".utf8) }
        return components.reduce(into: "") { path, component in
            path += "/"
            path += String(Substring(component))
        }
    }
}

/// Where relative paths start.
private enum WorkingDirectory {
    static let path: String = {
        guard let path = getcwd(nil, 0) else { return "" }
        defer { free(path) }
        return String(cString: path)
    }()
}
