internal import CLinux
import Glibc

/// Small files that only their owner may write, replaced in one step.
package enum PrivateFile {
    /// What was found under a name.
    package struct Found: Sendable {
        package let content: [UInt8]

        /// Whether nobody but the owner can read or write it.
        package let isPrivate: Bool
    }

    /// Reads a file.
    ///
    /// - Parameters:
    ///   - limit: bytes; what is behind them is left out.
    ///   - followsLinks: whether the last component may be a symbolic link.
    /// - Returns: nothing when there is none.
    package static func read(_ path: String, limit: Int, followsLinks: Bool) throws(SystemError) -> Found? {
        let flags = O_RDONLY | O_CLOEXEC | O_NONBLOCK | (followsLinks ? 0 : clinux_o_nofollow)
        let number = clinux_openat(AT_FDCWD, path, flags, 0)
        guard number >= 0 else {
            guard errno != ENOENT else { return nil }
            throw SystemError(errno: errno, call: "open")
        }
        let file = Descriptor(number)
        var status = stat()
        try system("fstat") { fstat(number, &status) }
        return Found(content: try content(of: file, limit), isPrivate: status.st_mode & 0o077 == 0)
    }

    private static func content(of file: borrowing Descriptor, _ limit: Int) throws(SystemError) -> [UInt8] {
        let number = file.number
        var content: [UInt8] = []
        var piece = [UInt8](repeating: 0, count: min(limit, 4096))
        while content.count < limit {
            let count = try system("read") { Glibc.read(number, &piece, min(piece.count, limit - content.count)) }
            guard count > 0 else { break }
            content += piece[..<count]
        }
        return content
    }

    /// Replaces a file, or makes it, in one step and durably; a reader finds the old content or the new.
    ///
    /// - Parameter folder: that holds it.
    package static func write(_ content: [UInt8], to path: String, in folder: String) throws(SystemError) {
        try make(content, at: "\(path).new")
        try system("rename") { rename("\(path).new", path) }
        try sync(folder)
    }

    /// Makes a file that only its owner can read, all of it on disk.
    private static func make(_ content: [UInt8], at path: String) throws(SystemError) {
        // Left behind by a program that was killed while it did the same.
        unlink(path)
        let flags = O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | clinux_o_nofollow
        let file = Descriptor(try system("open") { clinux_openat(AT_FDCWD, path, flags, 0o600) })
        let number = file.number
        var written = 0
        while written < content.count {
            written += try content.span.bytes.withUnsafeBytes { (bytes) throws(SystemError) in
                let rest = UnsafeRawBufferPointer(rebasing: bytes[written...])
                return try system("write") { Glibc.write(number, rest.baseAddress, rest.count) }
            }
        }
        try system("fsync") { fsync(number) }
    }

    private static func sync(_ folder: String) throws(SystemError) {
        let directory = try open(folder: folder)
        let number = directory.number
        try system("fsync") { fsync(number) }
    }

    /// Keeps everybody else who asks for the same out of a folder while `body` runs.
    package static func withLock<Value>(
        on folder: String, _ body: () throws(SystemError) -> Value
    ) throws(SystemError) -> Value {
        let directory = try open(folder: folder)
        let number = directory.number
        try system("flock") { flock(number, LOCK_EX) }
        return try body()
    }

    private static func open(folder: String) throws(SystemError) -> Descriptor {
        let flags = clinux_o_directory | O_RDONLY | O_CLOEXEC
        return Descriptor(try system("open") { clinux_openat(AT_FDCWD, folder, flags, 0) })
    }
}
