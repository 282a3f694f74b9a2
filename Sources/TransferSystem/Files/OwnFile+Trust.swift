import Glibc
import Synchronization

/// Checks that other users cannot write security-relevant files, such as lists of keys, and configuration files, which
/// can name commands to run.
package enum FileTrust {
    /// The reason why such a file is not trusted.
    package struct Fault: Error, Equatable, Sendable {
        package enum Reason: Equatable, Sendable {
            /// The file belongs to this user ID, which is neither the present user's nor root's.
            case owner(UInt32)
            /// Other users can write the file.
            case writable
            /// The file or folder cannot be examined.
            case unknown
            /// A server stores its clients' uploads in this folder.
            case served
        }

        /// The path of the file that was checked, or of a folder that contains it.
        package let path: String
        package let isFolder: Bool
        package let reason: Reason
    }

    /// Whether to trust such files without a check. Set once, before any such file is read.
    package static var isWaived: Bool {
        get { waived.load(ordering: .relaxed) }
        set { waived.store(newValue, ordering: .relaxed) }
    }
    private static let waived = Atomic(false)

    /// The file that a server keeps locked in its directory (`DirectoryLock`), as a path below the directory.
    package static let lockOfServedDirectory = ".transfer/lock"

    /// The flag that sets `isWaived`.
    package static let flagName = "insecure-permissions"

    /// Applies the rules that ssh(1) has for its configuration, and sshd(8) for users' keys: the file and its folder
    /// belong to this user or to root, and no other user can write them or the folders above them up to the user's
    /// home. If the path contains symbolic links, this applies to the target of each link and to the folder that
    /// contains the link.
    ///
    /// A file in a directory in which a server stores uploads is not trusted either, because a client of that server
    /// could have sent it.
    ///
    /// - Parameters:
    ///   - path: path of the file that was read.
    ///   - home: the home directory of this user; nil if the user has no home.
    ///
    /// - Throws: `Fault` if another user or a client of a server can write or replace the file.
    package static func check(_ path: String, home: String? = home) throws(Fault) {
        guard !isWaived else { return }
        let top = home.map { CanonicalPath($0) }
        var (next, links) = (path, 0)
        while true {
            try checkFolders(of: next, within: home, top)
            guard let link = try target(of: next) else { break }
            // The kernel follows at most 40 links as well (path_resolution(7)).
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

    /// Checks the folder of a path, and the folders above it up to the user's home, without resolving links: each of
    /// these folders may be a link.
    private static func checkFolders(of path: String, within home: String?, _ top: CanonicalPath?) throws(Fault) {
        var folder = OwnFile.folder(of: path)
        try check(folder, isFolder: true)
        while let home, let top, folder.utf8.starts(with: "\(home)/".utf8), !top.isWithin(CanonicalPath(folder)) {
            folder = OwnFile.folder(of: folder)
            try check(folder, isFolder: true)
        }
    }

    /// - Returns: the target of a link, relative to the link's folder; nil for any other file.
    /// - Throws: `Fault` for a link that belongs to another user, because that user decides where it leads.
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

    /// The user's home according to HOME.
    package static var home: String? { getenv("HOME").flatMap { String(validatingCString: $0) } }

    private static func check(_ path: String, isFolder: Bool) throws(Fault) {
        var status = stat()
        guard stat(path, &status) == 0 else { throw Fault(path: path, isFolder: isFolder, reason: .unknown) }
        // In a folder with the sticky bit, other users can change only their own files.
        let isShared = isFolder && status.st_mode & S_ISVTX != 0
        guard status.st_uid == geteuid() || status.st_uid == 0 else {
            throw Fault(path: path, isFolder: isFolder, reason: .owner(status.st_uid))
        }
        guard status.st_mode & 0o022 == 0 || isShared else {
            throw Fault(path: path, isFolder: isFolder, reason: .writable)
        }
    }
}
