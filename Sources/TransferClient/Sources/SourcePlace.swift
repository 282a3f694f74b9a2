internal import CLinux
import Glibc
import Synchronization
import TransferModel
import TransferPorts
import TransferStore
import TransferSystem

/// The place of a source on this machine: a file that the user named, or an entry found below a directory that the user
/// named.
///
/// An entry that was found is opened from that directory, through no symbolic link (`Beneath`). Other users may be able
/// to change names in the tree, and a path that is looked up again could lead to a file that they may not read.
struct SourcePlace: Sendable {
    /// The whole path, for reports and for the IDs of uploads. Empty for the root of the file system.
    let path: String

    private let start: Start

    private enum Start: Sendable {
        /// The user has named the path, and the kernel resolves it as usual.
        case named(followsLink: Bool)
        case below(SourceRoot)
        /// The path is the name of an entry in a directory.
        case entry(SourceDirectory)
    }

    /// - Parameter followsLink: whether the last component may be a symbolic link.
    init(named path: String, followsLink: Bool) {
        (self.path, start) = (path, .named(followsLink: followsLink))
    }

    /// A directory that the user named.
    init(_ root: SourceRoot) {
        (path, start) = (root.path, .below(root))
    }

    /// An entry below a directory that the user named.
    ///
    /// - Parameter relative: components separated by slashes; empty for the directory itself.
    init(_ relative: String, below root: SourceRoot) {
        (path, start) = (relative.isEmpty ? root.path : "\(root.path)/\(relative)", .below(root))
    }

    init(_ name: String, in directory: SourceDirectory) {
        (path, start) = (name, .entry(directory))
    }

    private init(_ path: String, _ start: Start) {
        (self.path, self.start) = (path, start)
    }

    /// The place of an entry in this directory.
    func child(_ name: String) -> SourcePlace { SourcePlace("\(path)/\(name)", start) }

    /// The named directory below which the source was found; nil if the source itself was named.
    var root: SourceRoot? {
        if case .below(let root) = start { root } else { nil }
    }

    /// - Parameter flags: flags for open(2), without `O_CREAT`.
    /// - Throws: ELOOP, ENOTDIR or EXDEV if a symbolic link is in the way; ESTALE if the named directory was replaced.
    func open(_ flags: Int32) throws(SystemError) -> Descriptor {
        switch start {
        case .below(let root): return try root.opened().open(Self.relative(path, to: root), flags)
        case .entry(let directory): return try directory.open(path, flags)
        case .named(let followsLink):
            // The kernel would take the bytes before the zero for the whole path.
            guard !path.utf8.contains(0) else { throw SystemError(errno: EINVAL, call: "open") }
            let flags = flags | O_CLOEXEC | (followsLink ? 0 : clinux_o_nofollow)
            let path = path
            return Descriptor(try system("open") { clinux_openat(AT_FDCWD, path, flags, 0) })
        }
    }

    /// Opens it as a directory.
    func openDirectory() throws(SystemError) -> SourceDirectory {
        SourceDirectory(try open(SourceDirectory.flags))
    }

    /// The directory that contains it, and its name there.
    func parent() throws(SystemError) -> (directory: SourceDirectory, name: String) {
        switch start {
        case .entry(let directory): return (directory, path)
        case .below(let root) where !path.hasSameBytes(as: root.path):
            let (folder, name) = Self.split(Self.relative(path, to: root))
            let top = try root.opened()
            return (try folder.map { folder throws(SystemError) in try top.directory(folder) } ?? top, name)
        case .named, .below:
            let (folder, name) = split
            return (try SourceDirectory(folder), name)
        }
    }

    /// The present status. A symbolic link is followed only if it was named with `followsLink`.
    func status() throws(SystemError) -> stat {
        switch start {
        case .named(let followsLink): return try Self.status(path, followsLink: followsLink)
        case .below(let root) where path.hasSameBytes(as: root.path): return try root.opened().status()
        case .below, .entry:
            let (directory, name) = try parent()
            return try directory.status(name)
        }
    }

    /// Identity of the file that is there now, only for a comparison with an opened one: other users may lead this
    /// lookup elsewhere, but the file that it finds is never read.
    ///
    /// - Returns: nil if there is no regular file.
    var identity: SourceFile.Identity? {
        var status = stat()
        let code: Int32
        switch start {
        case .named(let followsLink): code = fstatat(AT_FDCWD, path, &status, followsLink ? 0 : AT_SYMLINK_NOFOLLOW)
        case .entry(let directory): code = fstatat(directory.number, path, &status, AT_SYMLINK_NOFOLLOW)
        case .below(let root):
            guard let top = try? root.opened() else { return nil }
            code = fstatat(top.number, Self.relative(path, to: root), &status, AT_SYMLINK_NOFOLLOW)
        }
        guard code == 0, status.st_mode & S_IFMT == S_IFREG else { return nil }
        return SourceFile.Identity(status)
    }

    private static func status(_ path: String, followsLink: Bool) throws(SystemError) -> stat {
        var status = stat()
        guard !path.utf8.contains(0) else { throw SystemError(errno: EINVAL, call: "stat") }
        try system("stat") { fstatat(AT_FDCWD, path, &status, followsLink ? 0 : AT_SYMLINK_NOFOLLOW) }
        return status
    }

    private static func relative(_ path: String, to root: SourceRoot) -> String {
        let below = path.utf8.dropFirst(root.path.utf8.count + 1)
        return below.isEmpty ? "." : String(Substring(below))
    }

    /// The path of the directory that contains it, which is `.` for a path of one component, and its name there.
    var split: (folder: String, name: String) {
        let (folder, name) = Self.split(path)
        return (folder.map { $0.isEmpty ? "/" : $0 } ?? ".", name)
    }

    /// - Returns: nil as the folder of a path of one component.
    private static func split(_ path: String) -> (folder: String?, name: String) {
        guard let slash = path.utf8.lastIndex(of: UInt8(ascii: "/")) else { return (nil, path) }
        return (String(path[..<slash]), String(path[path.utf8.index(after: slash)...]))
    }
}

extension SourcePlace: Equatable {
    /// Places of two roots with the same path are equal, because the user has named them by the same path.
    static func == (place: SourcePlace, other: SourcePlace) -> Bool { place.path.hasSameBytes(as: other.path) }
}

/// A directory that the user named as a source. Its own path may lead through symbolic links; everything found below it
/// is opened from its descriptor.
///
/// While it stays open, it is the same directory whatever happens to its path. A process has few descriptors, so only
/// some roots stay open (`HeldRoots`); each of the others is opened by its path for each use, and must be the same
/// directory as before.
final class SourceRoot: Sendable {
    struct Identity: Equatable, Sendable {
        let device: UInt64
        let inode: UInt64

        init(_ status: stat) {
            (device, inode) = (UInt64(status.st_dev), UInt64(status.st_ino))
        }

        init(_ object: FileObject) {
            (device, inode) = (object.volume, object.number)
        }
    }

    /// The path as the user named it, without a slash at its end; empty for the root of the file system.
    let path: String

    let identity: Identity

    private let held: SourceDirectory?
    private let pool: HeldRoots?

    /// - Parameter pool: decides whether the directory stays open. Nil if it must not, as for a watch: a file system
    ///   with an open directory cannot be unmounted.
    /// - Throws: the error of open(2).
    init(_ path: String, in pool: HeldRoots? = .shared) throws(SystemError) {
        let path = path == "/" ? "" : path
        let directory = try Self.open(path)
        identity = try directory.identity
        self.path = path
        self.pool = pool
        held = pool?.add() == true ? directory : nil
    }

    deinit { pool?.remove() }

    /// - Throws: ESTALE if another directory has the path by now, or the error of open(2).
    func opened() throws(SystemError) -> SourceDirectory {
        if let held { return held }
        let directory = try Self.open(path)
        guard try directory.identity == identity else { throw SystemError(errno: ESTALE, call: "open") }
        return directory
    }

    private static func open(_ path: String) throws(SystemError) -> SourceDirectory {
        try SourceDirectory(path.isEmpty ? "/" : path)
    }
}

/// Counts the roots of a process, to limit how many stay open.
final class HeldRoots: Sendable {
    /// A process may usually open 1,024 descriptors (getrlimit(2)), and needs most of them for connections and files.
    static let shared = HeldRoots(most: 128)

    private let most: Int
    private let count = Atomic(0)

    /// - Parameter most: how many roots may stay open at once.
    init(most: Int) {
        self.most = most
    }

    /// Counts a root that was opened.
    ///
    /// - Returns: whether it may stay open.
    fileprivate func add() -> Bool { count.wrappingAdd(1, ordering: .relaxed).newValue <= most }

    fileprivate func remove() { count.wrappingSubtract(1, ordering: .relaxed) }
}
