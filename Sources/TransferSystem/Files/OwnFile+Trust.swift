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
        }

        /// Of the file itself, or of a folder that it lies in.
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

    /// The flag that sets it.
    package static let flagName = "insecure-permissions"

    /// As ssh(1) does with its configuration, and sshd(8) with the keys of users: file and folder belong to this user or to the superuser,
    /// and nobody else can write them, nor the folders above as far as the home of this user. Where a link stands for the file, this is
    /// asked of what it leads to. A group that has nobody but this user in it is this user.
    ///
    /// - Parameters:
    ///   - path: of a file that was read.
    ///   - home: of this user; nil for one without.
    /// - Throws: where somebody else can write the file, or put another one in its place.
    package static func check(_ path: String, home: String? = home) throws(Fault) {
        guard !isWaived else { return }
        let place = CanonicalPath(path)
        try check(place.string, isFolder: false)
        var folder = CanonicalPath(OwnFile.folder(of: place.string))
        let top = home.map { CanonicalPath($0) }
        try check(folder.string, isFolder: true)
        while let top, folder.isWithin(top), !top.isWithin(folder) {
            folder = CanonicalPath(OwnFile.folder(of: folder.string))
            try check(folder.string, isFolder: true)
        }
    }

    /// Where HOME says that this user's is.
    package static var home: String? { getenv("HOME").flatMap { String(validatingCString: $0) } }

    private static func check(_ path: String, isFolder: Bool) throws(Fault) {
        var status = stat()
        guard stat(path, &status) == 0 else { return }
        // In a folder with the sticky bit others only change what is theirs.
        let isShared = isFolder && status.st_mode & S_ISVTX != 0
        guard status.st_uid == geteuid() || status.st_uid == 0 else {
            throw Fault(path: path, isFolder: isFolder, reason: .owner(status.st_uid))
        }
        let writes = status.st_mode & (isOwn(group: status.st_gid, of: status.st_uid) ? 0o002 : 0o022)
        guard writes == 0 || isShared else { throw Fault(path: path, isFolder: isFolder, reason: .writable) }
    }

    /// Whether a group is the private one of a user, which many systems make for each: it has the user's name, and no other members.
    private static func isOwn(group: gid_t, of user: uid_t) -> Bool {
        guard user == geteuid(), let name = name(of: user) else { return false }
        var (entry, found) = (Glibc.group(), UnsafeMutablePointer<Glibc.group>?.none)
        let count = 64 << 10
        var space = [CChar](repeating: 0, count: count)
        return space.withUnsafeMutableBufferPointer { space in
            guard let space = space.baseAddress, getgrgid_r(group, &entry, space, count, &found) == 0, found != nil,
                let text = entry.gr_name, strcmp(text, name) == 0
            else { return false }
            var next = entry.gr_mem
            while let member = next?.pointee {
                guard strcmp(member, name) == 0 else { return false }
                next = next?.successor()
            }
            return true
        }
    }

    private static func name(of user: uid_t) -> String? {
        var (entry, found) = (passwd(), UnsafeMutablePointer<passwd>?.none)
        var space = [CChar](repeating: 0, count: 16 << 10)
        return space.withUnsafeMutableBufferPointer { space in
            guard let base = space.baseAddress, getpwuid_r(user, &entry, base, space.count, &found) == 0, found != nil
            else { return nil }
            return entry.pw_name.flatMap { String(validatingCString: $0) }
        }
    }
}
