internal import CLinux
import Glibc
import TransferModel
import TransferStore
import TransferSystem

/// The folder that sources are moved to when they are acknowledged, each under its path below the watched directory.
struct MoveTarget: Sendable {
    let path: String

    /// Numbered names that are tried.
    private static let mostNumbers = 10_000

    init(_ path: String) {
        self.path = path.absolutePath
    }

    /// Makes the folder, and looks whether a rename can lead there.
    ///
    /// - Parameter directory: the watched one, which is there.
    /// - Returns: a sentence that says why nothing can be moved there; nothing when it can.
    func obstacle(from directory: String) -> String? {
        let shown = path.escapedForDisplay
        let (own, watched) = (CanonicalPath(path), CanonicalPath(directory))
        guard !watched.isWithin(own) else { return "'\(shown)' is the watched directory, or holds it." }
        guard mkdir(path, 0o777) == 0 || errno == EEXIST else {
            return "'\(shown)' cannot be made: \(SystemError(errno: errno, call: "mkdir").reason)."
        }
        var (there, here) = (stat(), stat())
        guard stat(path, &there) == 0, there.st_mode & S_IFMT == S_IFDIR else { return "'\(shown)' is no directory." }
        guard stat(directory, &here) == 0 else { return "'\(directory.escapedForDisplay)' cannot be looked at." }
        guard there.st_dev == here.st_dev else {
            return "'\(shown)' is on another file system, where nothing can be moved without a copy."
        }
        return nil
    }

    /// The path below a directory; nothing when it is not there.
    func relative(to directory: String) -> String? {
        let (own, watched) = (CanonicalPath(path), CanonicalPath(directory))
        guard own.isWithin(watched) else { return nil }
        let prefix = watched.string == "/" ? "/" : watched.string + "/"
        return String(decoding: own.string.utf8.dropFirst(prefix.utf8.count), as: UTF8.self)
    }

    /// Moves the source of an upload, if it is still what was acknowledged. Nothing is replaced.
    ///
    /// - Parameter relative: its path below the watched directory.
    func take(_ report: UploadReport, _ relative: String) -> SourceFate {
        let source = report.source
        guard let pushed = report.file else { return .kept("It is no file.") }
        guard SourceFile.identity(path: source, followsLinks: false) == pushed else { return .kept(Self.changed) }
        do throws(SystemError) {
            let place = try move(source, relative)
            guard SourceFile.identity(path: place, followsLinks: false) != pushed else { return .moved(to: place) }
            // Somebody wrote in between. It goes back, and is sent again.
            try Self.rename(place, source)
            return .kept(Self.changed)
        } catch {
            return .kept(Self.reason(error))
        }
    }

    private static let changed = "It has changed since it was sent."

    private static func reason(_ error: SystemError) -> String {
        switch error.errno {
        case EXDEV: "It is on another file system than the folder to move to."
        case EACCES, EPERM, EROFS: "This user may not move it."
        default: "It could not be moved: \(error)."
        }
    }

    private func move(_ source: String, _ relative: String) throws(SystemError) -> String {
        try Self.makeFolders(above: "\(path)/\(relative)", from: path)
        for number in 0..<Self.mostNumbers {
            let name = number == 0 ? relative : (try? RelativePath(relative).numbered(number).string) ?? relative
            do throws(SystemError) {
                try Self.rename(source, "\(path)/\(name)")
                return "\(path)/\(name)"
            } catch {
                guard error.isExisting else { throw error }
            }
        }
        throw SystemError(errno: EEXIST, call: "rename")
    }

    /// Makes the folders between one that is there and a path.
    private static func makeFolders(above path: String, from top: String) throws(SystemError) {
        let parent = OwnFile.folder(of: path)
        guard parent.utf8.count > top.utf8.count else { return }
        if mkdir(parent, 0o777) == 0 || errno == EEXIST { return }
        guard errno == ENOENT else { throw SystemError(errno: errno, call: "mkdir") }
        try makeFolders(above: parent, from: top)
        guard mkdir(parent, 0o777) == 0 || errno == EEXIST else { throw SystemError(errno: errno, call: "mkdir") }
    }

    /// - Throws: EEXIST when there is something.
    private static func rename(_ old: String, _ new: String) throws(SystemError) {
        do throws(SystemError) {
            try system("rename") { clinux_renameat2(AT_FDCWD, old, AT_FDCWD, new, clinux_rename_noreplace) }
        } catch {
            // File systems such as NFS cannot rename without replacing, and can link.
            guard error.errno == EINVAL || error.errno == ENOSYS else { throw error }
            try system("link") { link(old, new) }
            try system("unlink") { unlink(old) }
        }
    }
}
