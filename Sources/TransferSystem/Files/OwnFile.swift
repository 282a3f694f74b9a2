internal import CLinux
import Glibc

/// A small file of this program, such as a key or an access list, as it was read.
package struct OwnFile: Sendable {
    /// The content, up to the limit.
    package let content: [UInt8]

    /// Whether the file is longer than the limit.
    package let isLonger: Bool

    /// The file's identity when it was read. It changes when the file is written or replaced.
    package let identity: FileIdentity

    private let mode: UInt32
    private let owner: UInt32

    /// Whether no user except its owner can read or write the file.
    package var isPrivate: Bool { mode & 0o077 == 0 }

    /// Whether the file belongs to root, and besides root only its group can read it. Kubernetes gives secrets to programs like that.
    package var isSharedByRoot: Bool { owner == 0 && mode & 0o037 == 0 }

    /// Whether only its owner can write the file, and the owner is this user or root.
    package var isGuarded: Bool { mode & 0o022 == 0 && (owner == geteuid() || owner == 0) }

    /// Reads a regular file. For a pipe, this throws EINVAL without waiting.
    ///
    /// - Parameters:
    ///   - limit: most bytes to read.
    ///   - followsLink: whether to follow a symbolic link at the end of the path.
    /// - Returns: nil if the file does not exist.
    package init?(reading path: String, atMost limit: Int, followsLink: Bool = false) throws(SystemError) {
        do throws(SystemError) {
            let flags = O_RDONLY | O_CLOEXEC | O_NONBLOCK | (followsLink ? 0 : clinux_o_nofollow)
            let file = Descriptor(try system("open") { clinux_openat(AT_FDCWD, path, flags, 0) })
            let number = file.number
            var status = stat()
            try system("fstat") { fstat(number, &status) }
            guard status.st_mode & S_IFMT == S_IFREG else { throw SystemError(errno: EINVAL, call: "open") }
            (mode, owner, identity) = (status.st_mode, status.st_uid, FileIdentity(status))
            let bytes = try Self.read(file, limit + 1)
            (content, isLonger) = (Array(bytes.prefix(limit)), bytes.count > limit)
        } catch {
            guard error.errno != ENOENT else { return nil }
            throw error
        }
    }

    /// The identity of the file at `path`; nil if it does not exist or cannot be examined.
    package static func identity(of path: String) -> FileIdentity? {
        var status = stat()
        return lstat(path, &status) == 0 ? FileIdentity(status) : nil
    }

    private static func read(_ file: borrowing Descriptor, _ limit: Int) throws(SystemError) -> [UInt8] {
        let number = file.number
        var bytes: [UInt8] = []
        while bytes.count < limit {
            let room = min(limit - bytes.count, 64 << 10)
            let more = try withUnsafeTemporaryAllocation(byteCount: room, alignment: 16) {
                (space) throws(SystemError) in
                let count = try system("read") { Glibc.read(number, space.baseAddress, space.count) }
                return Array(space[..<count])
            }
            if more.isEmpty { break }
            bytes += more
        }
        return bytes
    }
}
