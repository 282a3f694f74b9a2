import Glibc
import Synchronization

/// Whether files that decide something can be written by others: a configuration, whose commands are run, and lists of keys.
package enum FileTrust {
    /// Why such a file is not believed.
    package struct Fault: Error, Equatable, Sendable {
        package enum Reason: Equatable, Sendable {
            /// It belongs to this user, who is neither the one who asks nor the superuser.
            case owner(UInt32)
            /// Others can write it.
            case writable
            /// It cannot be looked at.
            case unknown
            /// A server stores what its clients send in this folder.
            case served
        }

        /// The path of the file itself, or of a folder that contains it.
        package let path: String
        package let isFolder: Bool
        package let reason: Reason
    }

    /// Whether such files are believed whoever can write them. Set once, before any is read.
    package static var isWaived: Bool {
        get { waived.load(ordering: .relaxed) }
        set { waived.store(newValue, ordering: .relaxed) }
    }
    private static let waived = Atomic(false)

    /// The file that a server keeps locked in the directory that it stores in: `DirectoryLock`, below the path of the directory.
    package static let lockOfServedDirectory = ".transfer/lock"

    /// The flag that sets it.
    package static let flagName = "insecure-permissions"

    /// As ssh(1) does with its configuration, and sshd(8) with the keys of users: file and folder belong to this user or to the superuser,
    /// and nobody else can write them, nor the folders above as far as the home of this user. Where links stand for it, this is asked of
    /// what they lead to and of the folders that they are in.
    ///
    /// - Parameters:
    ///   - path: of a file that was read.
    ///   - home: of this user; nil for one without.
    /// A file in a directory that a server stores in is not believed either, because clients of that server could have sent it.
    ///
    /// - Throws: if another user or a client of a server can write the file, or put another one in its place.
    package static func check(_ path: String, home: String? = home) throws(Fault) {
        guard !isWaived else { return }
        let top = home.map { CanonicalPath($0) }
        var (next, links) = (path, 0)
        while true {
            try checkFolders(of: next, within: home, top)
            guard let link = try target(of: next) else { break }
            // As many as the kernel follows (path_resolution(7)).
            guard links < 40 else { throw Fault(path: next, isFolder: false, reason: .unknown) }
            (next, links) = (link, links + 1)
        }
        let place = CanonicalPath(path).string
        try check(place, isFolder: false)
        try checkFolders(of: place, within: top?.string, top)
        try checkIsNotServed(place)
    }

    private static func checkIsNotServed(_ path: String) throws(Fault) {
        var folder = path
        repeat {
            folder = OwnFile.folder(of: folder)
            if access("\(folder)/\(lockOfServedDirectory)", F_OK) == 0 {
                throw Fault(path: folder, isFolder: true, reason: .served)
            }
        } while folder != "/" && folder != "."
    }

    /// The folder that something lies in, and those above it up to the home of this user: as they are written, each of which may be a link.
    private static func checkFolders(of path: String, within home: String?, _ top: CanonicalPath?) throws(Fault) {
        var folder = OwnFile.folder(of: path)
        try check(folder, isFolder: true)
        while let home, let top, folder.utf8.starts(with: "\(home)/".utf8), !top.isWithin(CanonicalPath(folder)) {
            folder = OwnFile.folder(of: folder)
            try check(folder, isFolder: true)
        }
    }

    /// - Returns: what a link says, from the folder that it is in; nil for what is none.
    /// - Throws: for a link of another user: whoever made it decides where it leads.
    private static func target(of path: String) throws(Fault) -> String? {
        var status = stat()
        guard lstat(path, &status) == 0 else { throw Fault(path: path, isFolder: false, reason: .unknown) }
        guard status.st_mode & S_IFMT == S_IFLNK else { return nil }
        guard status.st_uid == geteuid() || status.st_uid == 0 else {
            throw Fault(path: path, isFolder: false, reason: .owner(status.st_uid))
        }
        var bytes = [CChar](repeating: 0, count: Int(PATH_MAX) + 1)
        let count = readlink(path, &bytes, Int(PATH_MAX))
        guard count > 0, let text = String(validating: bytes.prefix(count).map { UInt8(bitPattern: $0) }, as: UTF8.self)
        else { throw Fault(path: path, isFolder: false, reason: .unknown) }
        return text.hasPrefix("/") ? text : "\(OwnFile.folder(of: path))/\(text)"
    }

    /// Where HOME says that this user's is.
    package static var home: String? { getenv("HOME").flatMap { String(validatingCString: $0) } }

    private static func check(_ path: String, isFolder: Bool) throws(Fault) {
        var status = stat()
        guard stat(path, &status) == 0 else { throw Fault(path: path, isFolder: isFolder, reason: .unknown) }
        // In a folder with the sticky bit others only change what is theirs.
        let isShared = isFolder && status.st_mode & S_ISVTX != 0
        guard status.st_uid == geteuid() || status.st_uid == 0 else {
            throw Fault(path: path, isFolder: isFolder, reason: .owner(status.st_uid))
        }
        guard status.st_mode & 0o022 == 0 || isShared else {
            throw Fault(path: path, isFolder: isFolder, reason: .writable)
        }
    }
}
