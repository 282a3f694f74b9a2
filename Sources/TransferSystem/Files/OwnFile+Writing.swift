internal import CLinux
import Glibc

extension OwnFile {
    /// Makes the names in a folder durable.
    typealias FolderSync = (String) throws(SystemError) -> Void

    /// Writes a file that only its owner can read, durably and atomically: a reader finds the whole new content or the
    /// old content. If a new file's name cannot be made durable, the name is removed again: the kernel reports a failed
    /// sync only once, so a later reader would believe that the file is durable.
    ///
    /// - Parameters:
    ///   - path: path in an existing folder.
    ///   - replaces: whether to replace an existing file.
    /// - Returns: whether the file was written; always true with `replaces`.
    package static func write(_ content: [UInt8], to path: String, replaces: Bool) throws(SystemError) -> Bool {
        try write(content, to: path, replaces: replaces, sync: sync(folder:))
    }

    static func write(
        _ content: [UInt8], to path: String, replaces: Bool, sync: FolderSync
    ) throws(SystemError) -> Bool {
        // A random name, because two processes may write the same file at the same time.
        let draft = "\(path).\(UInt64.random(in: .min ... .max)).new"
        defer { unlink(draft) }
        try fill(draft, content, syncs: true)
        if replaces {
            try system("rename") { rename(draft, path) }
        } else {
            do throws(SystemError) {
                try system("link") { link(draft, path) }
            } catch {
                guard error.isExisting else { throw error }
                // The file of another process exists. That process may have ended before it made the name durable.
                try sync(folder(of: path))
                return false
            }
        }
        do throws(SystemError) {
            try sync(folder(of: path))
        } catch {
            // The name is not removed if another process has replaced the file.
            if !replaces, identity(of: path)?.inode == identity(of: draft)?.inode { unlink(path) }
            throw error
        }
        return true
    }

    /// Writes a file that only its owner can read, as `write` does, but not durably: until the caller has used `sync`
    /// and `sync(folder:)`, which can serve several files, a power cut may lose the file or parts of it.
    ///
    /// - Returns: whether the file was written; always true with `replaces`.
    package static func writeUnsynced(
        _ content: [UInt8], to path: String, replaces: Bool
    ) throws(SystemError) -> Bool {
        let draft = "\(path).\(UInt64.random(in: .min ... .max)).new"
        defer { unlink(draft) }
        try fill(draft, content, syncs: false)
        do throws(SystemError) {
            try system(replaces ? "rename" : "link") { replaces ? rename(draft, path) : link(draft, path) }
        } catch {
            guard !replaces, error.isExisting else { throw error }
            return false
        }
        return true
    }

    /// Makes the content of an existing file durable, but not its name.
    package static func sync(_ path: String) throws(SystemError) {
        let file = Descriptor(try system("open") { clinux_openat(AT_FDCWD, path, O_RDONLY | O_CLOEXEC, 0) })
        let number = file.number
        try system("fsync") { fsync(number) }
    }

    /// Makes a folder that only its owner can enter, and missing folders above it, as mkdir(1) does with `-p`. Makes
    /// their names durable, because a key is lost with its folder.
    package static func makeFolder(_ path: String) throws(SystemError) {
        try makeFolder(path, sync: sync(folder:))
    }

    static func makeFolder(_ path: String, sync: FolderSync) throws(SystemError) {
        if try makeOneFolder(path, sync) { return }
        let parent = folder(of: path)
        guard parent != path else { throw SystemError(errno: ENOENT, call: "mkdir") }
        try makeFolder(parent, sync: sync)
        guard try makeOneFolder(path, sync) else { throw SystemError(errno: ENOENT, call: "mkdir") }
    }

    /// - Returns: false if the parent folder is missing.
    private static func makeOneFolder(_ path: String, _ sync: FolderSync) throws(SystemError) -> Bool {
        let code = mkdir(path, 0o700) == 0 ? 0 : errno
        guard code != ENOENT else { return false }
        guard code == 0 || code == EEXIST else { throw SystemError(errno: code, call: "mkdir") }
        do throws(SystemError) {
            // This is done for an existing folder too: the process that made it may have ended before it made the name
            // durable.
            try sync(folder(of: path))
        } catch {
            if code == 0 { rmdir(path) }
            throw error
        }
        return true
    }

    private static func fill(_ path: String, _ content: [UInt8], syncs: Bool) throws(SystemError) {
        let flags = O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | clinux_o_nofollow
        let file = Descriptor(try system("open") { clinux_openat(AT_FDCWD, path, flags, 0o600) })
        let number = file.number
        try writeAll(content, to: number)
        if syncs { try system("fsync") { fsync(number) } }
    }

    /// Makes the names in a folder durable.
    package static func sync(folder: String) throws(SystemError) {
        let directory = try open(folder: folder)
        let number = directory.number
        try system("fsync") { fsync(number) }
    }

    /// Runs `body` while this process has an exclusive lock on a folder. The lock keeps out only processes that also
    /// request it.
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

    /// The parent folder of a path.
    package static func folder(of path: String) -> String {
        guard let slash = path.utf8.lastIndex(of: UInt8(ascii: "/")) else { return "." }
        return slash == path.startIndex ? "/" : String(path[..<slash])
    }
}
