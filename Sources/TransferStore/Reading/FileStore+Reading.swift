internal import CLinux
import Glibc
package import TransferModel
package import TransferSystem

/// What is stored, for clients that may see it. Every path goes through the same resolver as those of uploads.
extension FileStore {
    /// What has a path now; the store's directory itself for nothing.
    ///
    /// - Throws: `notFound`, also for what is neither a file nor a directory.
    package func attributes(at path: RelativePath?) throws(Failure) -> StoredAttributes {
        let status = try reading(path) { () throws(SystemError) in
            guard let path else { return try tree.root.status(".") }
            try tree.check(path)
            return try tree.open(path.parent).status(String(path.name))
        }
        guard let status, let attributes = StoredAttributes(status) else { throw .notFound(path) }
        return attributes
    }

    /// What has a path now, with all that is kept of it; a symbolic link itself, wherever it leads.
    ///
    /// - Throws: `notFound`, also for what is none of these.
    package func whole(at path: RelativePath) throws(Failure) -> WholeEntry {
        let entry = try reading(path) { () throws(SystemError) in
            try tree.check(path)
            return try WholeEntry(path, named: String(path.name), in: try tree.open(path.parent))
        }
        guard let entry else { throw .notFound(path) }
        return entry
    }

    /// Whether a folder has the path; a symbolic link is none, wherever it leads.
    ///
    /// - Throws: `notFound`, also for what is no file, folder or link.
    package func isDirectory(at path: RelativePath) throws(Failure) -> Bool {
        let status = try reading(path) { () throws(SystemError) in
            try tree.check(path)
            return try tree.open(path.parent).status(String(path.name))
        }
        guard let status, status.isFile || status.isDirectory || status.isLink else { throw .notFound(path) }
        return status.isDirectory
    }

    /// What is in a directory; in the store's directory itself for nothing.
    ///
    /// - Throws: `notFound`; `wrongForm` for a file.
    package func list(_ path: RelativePath?) throws(Failure) -> StoredListing {
        do throws(Failure) {
            return try reading(path) { () throws(SystemError) in try StoredListing(try tree.open(path), at: path) }
        } catch {
            guard error.code == .notFound, try !attributes(at: path).isDirectory else { throw error }
            throw Failure(.wrongForm, "\(path?.description ?? "It") is a file, and no folder.")
        }
    }

    /// Looks at and opens what is stored now.
    package func reader() -> StoreReader { StoreReader(tree) }

    fileprivate func reading<T>(
        _ path: RelativePath?, _ body: () throws(SystemError) -> T
    ) throws(Failure) -> T {
        do throws(SystemError) { return try body() } catch { throw Failure(error, reading: path) }
    }
}

extension Failure {
    package static func notFound(_ path: RelativePath?) -> Failure {
        Failure(.notFound, "There is nothing under \(path?.description ?? "the folder").")
    }

    package static func otherVersion(_ path: RelativePath) -> Failure {
        Failure(.fileChanged, "\(path) has changed since the client has looked at it; it is left as it is.")
    }

    /// For a call that was to look at a path, or at what stands there.
    package init(_ error: SystemError, reading path: RelativePath?) {
        let shown = path?.description ?? "the folder"
        switch error.errno {
        // On the way to it is a file.
        case ENOENT, ENOTDIR: self = .notFound(path)
        case EACCES, EPERM: self.init(.storageFailed, "Could not read \(shown): the server's file system refuses.")
        default: self.init(error, doing: "read \(shown)")
        }
    }
}
