import Glibc

/// The names in a directory, in no particular order, without `.` and `..`; empty if the directory cannot be opened.
package func names(in directory: String) -> [String] {
    nameBytes(in: Array(directory.utf8CString)).map { String(decoding: $0, as: UTF8.self) }
}

/// The names in a directory as bytes, because they need not be text.
///
/// - Parameter directory: the path of the directory, with a NUL at the end.
func nameBytes(in directory: [CChar]) -> [[UInt8]] {
    guard let stream = opendir(directory) else { return [] }
    defer { closedir(stream) }
    var names: [[UInt8]] = []
    while let entry = readdir(stream) {
        let name = withUnsafeBytes(of: &entry.pointee.d_name) { Array($0.prefix { $0 != 0 }) }
        if name != [UInt8](".".utf8), name != [UInt8]("..".utf8) { names.append(name) }
    }
    return names
}

/// Whether there is a directory at the path, and not a link to one.
package func isDirectory(_ path: String) -> Bool {
    var status = stat()
    return lstat(path, &status) == 0 && status.st_mode & S_IFMT == S_IFDIR
}
