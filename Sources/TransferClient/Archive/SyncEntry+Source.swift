import Glibc
import TransferModel
import TransferPorts
import TransferStore
import TransferSystem

/// Entries with all their attributes, read from sources on this machine.
extension SyncEntry {
    /// Reads the attributes of a directory.
    ///
    /// - Throws: `sourceUnreadable`, also if its extended attributes are too large to be kept.
    static func folder(_ directory: SourceDirectory, as path: RelativePath) throws(Failure) -> SyncEntry {
        do throws(SystemError) {
            let status = try directory.status()
            let own = try directory.openForReading()
            return SyncEntry(
                path, .folder, modified: Timestamp(status.st_mtim), permissions: status.permissions,
                try ExtraAttributes(of: own.number, wantsOwner: true))
        } catch {
            throw error.errno == E2BIG ? .tooManyAttributes : .unreadable(error)
        }
    }

    /// Reads a symbolic link itself, without following it.
    ///
    /// - Throws: `sourceUnreadable`.
    static func link(at place: SourcePlace, as path: RelativePath) throws(Failure) -> SyncEntry {
        do throws(SystemError) {
            let (directory, name) = try place.parent()
            let status = try directory.status(name)
            let link = try directory.link(name)
            return SyncEntry(
                path, .link(link.target), modified: link.modified, permissions: status.permissions,
                ExtraAttributes(owner: status.givenOwner))
        } catch {
            throw .unreadable(error)
        }
    }

    /// Reads the attributes of a pushed file, if it has not changed.
    ///
    /// - Throws: `sourceChanged`, or `sourceUnreadable`, also if its extended attributes are too large to be kept.
    static func file(
        at place: SourcePlace, as path: RelativePath, _ pushed: SourceFile.Identity
    ) throws(Failure) -> SyncEntry {
        let file = try SourceFile(place)
        guard file.identity == pushed else { throw .changed }
        return SyncEntry(
            path, .file(file.size), modified: file.modified, permissions: file.permissions,
            try file.extraAttributes(wantsOwner: true))
    }

    /// The entry for another name of a file.
    static func name(of status: stat, as path: RelativePath, _ named: NamedFile) -> SyncEntry {
        SyncEntry(
            path, .file(UInt64(max(0, status.st_size))), modified: Timestamp(status.st_mtim),
            permissions: status.permissions, ExtraAttributes(), named)
    }
}

extension SyncEntry.NamedFile {
    /// - Returns: nil for a file with a single name, and for anything but a file.
    init?(_ status: stat) {
        guard status.st_mode & S_IFMT == S_IFREG, status.st_nlink > 1 else { return nil }
        self.init(high: UInt64(status.st_dev), low: UInt64(status.st_ino))
    }
}

extension stat {
    fileprivate var permissions: UInt16 { UInt16(truncatingIfNeeded: st_mode & 0o777) }

    fileprivate var givenOwner: ExtraAttributes.Owner { ExtraAttributes.Owner(user: st_uid, group: st_gid) }
}

extension Failure {
    /// The fault of a local file or directory.
    static let tooManyAttributes = Failure(
        .sourceUnreadable,
        "Its extended attributes have more than \(ExtraAttributes.mostBytes) bytes, and cannot be kept.")

    /// The fault of a file or folder on the server.
    static let untoldAttributes = Failure(
        .unsuitable,
        "Its extended attributes cannot be kept: they have more than \(ExtraAttributes.mostBytes) bytes, "
            + "or the server may not read them. A pull without --archive leaves them out.")
}
