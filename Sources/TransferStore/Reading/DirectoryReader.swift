internal import CLinux
import Glibc
import TransferModel
import TransferPorts
import TransferSystem

/// Looks up and opens stored files, and keeps the last directory open.
final class DirectoryReader: TreeReader {
    private let tree: DirectoryTree
    /// The directory is nil if it does not exist.
    private var last: (path: RelativePath?, directory: DirectoryHandle?)?

    init(_ tree: DirectoryTree) {
        self.tree = tree
    }

    package func attributes(at path: RelativePath) -> StoredAttributes? {
        guard let status = try? directory(path.parent).status(String(path.name)) else { return nil }
        return StoredAttributes(status)
    }

    package func open(_ path: RelativePath, as name: RelativePath) throws(Failure) -> any ReadableContent {
        try openFile(path, as: name)
    }

    func openFile(_ path: RelativePath, as name: RelativePath) throws(Failure) -> StoredContent {
        let (directory, status): (DirectoryHandle, stat?)
        do throws(SystemError) {
            directory = try self.directory(path.parent)
            // Check the form first: opening a device can have side effects.
            status = try directory.status(String(path.name))
        } catch {
            throw Failure(error, reading: name)
        }
        guard let status, let found = StoredAttributes(status) else { throw .notFound(name) }
        guard !found.isDirectory else { throw Failure(.wrongForm, "\(name) is a folder, not a file.") }
        return try open(path, as: name, in: directory)
    }

    private func open(
        _ path: RelativePath, as name: RelativePath, in directory: DirectoryHandle
    ) throws(Failure) -> StoredContent {
        do throws(SystemError) {
            return try StoredContent(String(path.name), in: directory, as: name)
        } catch {
            throw Failure(error, reading: name)
        }
    }

    private func directory(_ path: RelativePath?) throws(SystemError) -> DirectoryHandle {
        if let last, last.path == path {
            guard let directory = last.directory else { throw SystemError(errno: ENOENT, call: "openat2") }
            return directory
        }
        do throws(SystemError) {
            let directory = try tree.open(path)
            last = (path, directory)
            return directory
        } catch {
            // Only the absence is remembered, because other errors may not occur the next time.
            if error.errno == ENOENT { last = (path, nil) }
            throw error
        }
    }
}
