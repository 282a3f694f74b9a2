import Glibc

/// Makes the files for inputs, and checks which files they leave.
enum Files {
    static func makeDirectory(_ path: String) throws(Finding) {
        try require(mkdir(path, 0o755) == 0, "mkdir: \(errno)")
    }

    static func makeLink(_ path: String, to target: String) throws(Finding) {
        try require(symlink(target, path) == 0, "symlink: \(errno)")
    }

    static func makeFIFO(_ path: String) throws(Finding) {
        try require(mkfifo(path, 0o644) == 0, "mkfifo: \(errno)")
    }

    static func makeFile(_ path: String) throws(Finding) {
        try require(mknod(path, S_IFREG | 0o644, 0) == 0, "mknod: \(errno)")
    }

    /// Replaces an existing file; only its owner can read it.
    static func write(_ content: [UInt8], to path: String) throws(Finding) {
        let file = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o600)
        try require(file >= 0, "open: \(errno)")
        defer { close(file) }
        try require(Glibc.write(file, content, content.count) == content.count, "write: \(errno)")
    }

    /// The content of a file, up to the largest size that an input can cause; nil if the file does not exist.
    static func content(_ path: String) -> [UInt8]? {
        let file = open(path, O_RDONLY | O_CLOEXEC)
        guard file >= 0 else { return nil }
        defer { close(file) }
        return [UInt8](unsafeUninitializedCapacity: 1 << 16) { buffer, count in
            count = max(0, read(file, buffer.baseAddress, buffer.count))
        }
    }

    /// Whether the path has an empty regular file.
    static func isEmpty(_ path: String) -> Bool {
        var status = stat()
        return lstat(path, &status) == 0 && status.st_mode & S_IFMT == S_IFREG && status.st_size == 0
    }
}
