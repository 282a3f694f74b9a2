import Glibc
import TransferModel
import TransferPorts
import TransferStore
import TransferSystem

/// The folder that sources are moved to when they are acknowledged, each under its path below the watched directory.
///
/// Users who can make names in the watched directory may make symbolic links there. So a folder in it, and everything
/// below that folder, is opened from the watched directory without following links.
final class MoveTarget: Sendable {
    let path: String

    /// Nil until a call of `obstacle` has succeeded.
    private let found = Locked<Found?>(nil)

    /// The folder as it was found. It does not stay open, because then its file system could not be unmounted.
    private struct Found {
        let root: SourceRoot
        /// The path below the watched directory; empty if the folder itself is the root.
        let below: String
        let identity: SourceRoot.Identity

        /// - Throws: ESTALE if the path has another folder by now.
        func open() throws(SystemError) -> SourceDirectory {
            let folder = try SourcePlace(below, below: root).openDirectory()
            guard try folder.identity == identity else { throw SystemError(errno: ESTALE, call: "open") }
            return folder
        }
    }

    /// Numbered names that are tried at most.
    private static let mostNumbers = 10_000

    init(_ path: String) {
        self.path = path.absolutePath
    }

    /// Makes the folder, and checks that files can be renamed into it. To be called before files are moved, and again
    /// for another watched directory.
    ///
    /// - Returns: why files cannot be moved there, as a sentence; nil if they can.
    func obstacle(from root: SourceRoot) -> String? {
        let shown = path.escapedForDisplay
        let (own, watched) = (CanonicalPath(path), CanonicalPath(root.path.isEmpty ? "/" : root.path))
        guard !watched.isWithin(own) else { return "'\(shown)' is the watched directory, or contains it." }
        do throws(SystemError) {
            let folder = try make(from: root)
            guard folder.identity.device == root.identity.device else {
                return "'\(shown)' is on another file system, and files can only be moved within one file system."
            }
            found.withLock { $0 = folder }
            return nil
        } catch {
            switch error.errno {
            case ELOOP, EXDEV:
                return
                    "'\(shown)' leads through a symbolic link in the watched directory; give the folder that the link "
                    + "leads to."
            case ENOTDIR: return "'\(shown)' is not a directory."
            default: return "'\(shown)' cannot be created: \(error.reason)."
            }
        }
    }

    private func make(from root: SourceRoot) throws(SystemError) -> Found {
        let top = root.path.absolutePath
        if let below = Self.below(path, top) ?? relative(to: top) {
            let folder = try Self.makeFolder(below, in: try root.opened()) { _ in 0o777 }
            return Found(root: root, below: below, identity: try folder.identity)
        }
        guard mkdir(path, 0o777) == 0 || errno == EEXIST else { throw SystemError(errno: errno, call: "mkdir") }
        let own = try SourceRoot(path, in: nil)
        return Found(root: own, below: "", identity: own.identity)
    }

    /// The folder's path below a directory; nil if the folder is not in the directory.
    func relative(to directory: String) -> String? {
        let (own, watched) = (CanonicalPath(path), CanonicalPath(directory))
        return own.isWithin(watched) ? Self.below(own.string, watched.string) : nil
    }

    /// - Returns: nil for a path that does not begin with the directory's.
    private static func below(_ path: String, _ directory: String) -> String? {
        let prefix = directory == "/" ? "/" : directory + "/"
        guard path.utf8.starts(with: prefix.utf8), path.utf8.count > prefix.utf8.count else { return nil }
        return String(Substring(path.utf8.dropFirst(prefix.utf8.count)))
    }

    /// Moves the source of an upload, if it is still the acknowledged file. Replaces nothing.
    ///
    /// - Parameter relative: the source's path below the watched directory.
    func take(_ report: UploadReport, _ relative: String) -> SourceFate {
        guard let pushed = report.file, let place = report.place else { return .kept("It is not a file.") }
        guard let found = found.withLock({ $0 }) else { return .kept("The folder to move to does not exist.") }
        do throws(SystemError) {
            let target = try found.open()
            let (directory, name) = try place.parent()
            guard SourcePlace(name, in: directory).identity == pushed else { return .kept(Self.changed) }
            let (folder, moved) = try move(name, from: directory, place, relative, to: target)
            let there = SourcePlace(moved.name, in: folder)
            guard there.identity != pushed else { return .moved(to: "\(path)/\(moved.path)") }
            // Another process wrote to it meanwhile. The file goes back, and is sent again.
            try Self.rename(moved.name, in: folder, to: name, in: directory)
            return .kept(Self.changed)
        } catch {
            return .kept(Self.reason(error))
        }
    }

    private static let changed = "It has changed since it was sent."

    private static func reason(_ error: SystemError) -> String {
        switch error.errno {
        case EXDEV: "It is on another file system than the folder to move to."
        case ESTALE: "The folder to move to was replaced by another one."
        case EACCES, EPERM, EROFS: "This user may not move it."
        case ELOOP, ENOTDIR:
            "In the folder to move to, one of its parent folders is not a folder but, for example, a symbolic link."
        default: "It could not be moved: \(error)."
        }
    }

    /// - Returns: the folder that contains the file now, and its name and path there.
    private func move(
        _ name: String, from directory: SourceDirectory, _ place: SourcePlace, _ relative: String,
        to target: SourceDirectory
    ) throws(SystemError) -> (folder: SourceDirectory, moved: (name: String, path: String)) {
        let parent = Self.parent(of: relative)
        let folder = try Self.makeFolder(parent, in: target) { path throws(SystemError) in
            // A new folder gets no more permissions than the folder that the file comes from.
            guard let root = place.root else { return 0o700 }
            return try root.opened().directory(path).status().st_mode & 0o777
        }
        for number in 0..<Self.mostNumbers {
            let other = number == 0 ? name : (try? RelativePath(name).numbered(number).string) ?? name
            do throws(SystemError) {
                try Self.rename(name, in: directory, to: other, in: folder)
                return (folder, (other, parent.isEmpty ? other : "\(parent)/\(other)"))
            } catch {
                guard error.isExisting else { throw error }
            }
        }
        throw SystemError(errno: EEXIST, call: "rename")
    }

    private static func parent(of path: String) -> String {
        path.utf8.lastIndex(of: UInt8(ascii: "/")).map { String(path[..<$0]) } ?? ""
    }

    /// Makes a folder below a directory, with those above it, or opens the existing one.
    ///
    /// - Parameter permissions: the permissions for each of these folders, by its path below the directory.
    private static func makeFolder(
        _ path: String, in directory: SourceDirectory, _ permissions: (String) throws(SystemError) -> mode_t
    ) throws(SystemError) -> SourceDirectory {
        guard !path.isEmpty else { return directory }
        do throws(SystemError) {
            return try directory.directory(path)
        } catch {
            guard error.errno == ENOENT else { throw error }
        }
        let above = try makeFolder(parent(of: path), in: directory, permissions)
        let name = String(Substring(path.utf8.split(separator: UInt8(ascii: "/")).last ?? path.utf8[...]))
        return try above.makeDirectory(name, permissions: try permissions(path))
    }

    /// - Throws: EEXIST if the new name is taken.
    private static func rename(
        _ old: String, in directory: SourceDirectory, to new: String, in folder: SourceDirectory
    ) throws(SystemError) {
        do throws(SystemError) {
            try directory.rename(old, to: new, in: folder)
        } catch {
            // File systems such as NFS cannot rename without replacing, but can make hard links.
            guard error.errno == EINVAL || error.errno == ENOSYS else { throw error }
            try directory.relink(old, to: new, in: folder)
        }
    }
}
