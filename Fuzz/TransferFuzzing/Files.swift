import Glibc

/// Makes what the inputs of `paths` find.
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

    /// An empty one.
    static func makeFile(_ path: String) throws(Finding) {
        try require(mknod(path, S_IFREG | 0o644, 0) == 0, "mknod: \(errno)")
    }

    /// Whether it is an empty file and no link.
    static func isEmpty(_ path: String) -> Bool {
        var status = stat()
        return lstat(path, &status) == 0 && status.st_mode & S_IFMT == S_IFREG && status.st_size == 0
    }
}
