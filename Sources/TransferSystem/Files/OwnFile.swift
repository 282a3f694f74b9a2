internal import CLinux
import Glibc

/// A small file of this program as it was read at once: a key, or a list of who may do what.
package struct OwnFile: Sendable {
    /// At most as much as was asked for.
    package let content: [UInt8]

    /// Whether there is more in it than was asked for.
    package let isLonger: Bool

    /// What tells it from what it is after a change.
    package let identity: FileIdentity

    private let mode: UInt32
    private let owner: UInt32

    /// Whether nobody but its owner can read or write it.
    package var isPrivate: Bool { mode & 0o077 == 0 }

    /// Whether nobody but its owner can write it, and that is who runs this program or the superuser.
    package var isGuarded: Bool { mode & 0o022 == 0 && (owner == geteuid() || owner == 0) }

    /// Reads a file. A pipe is not waited for.
    ///
    /// - Parameters:
    ///   - limit: bytes to read.
    ///   - followsLink: whether a link at its end is followed.
    /// - Returns: nothing when there is no such file.
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

    /// What tells the file at `path` from what it was before; nothing where there is none, or where that cannot be
    /// said.
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
