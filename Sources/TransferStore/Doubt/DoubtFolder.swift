import Glibc
import TransferSystem

/// Where doubt is kept that outlives the process: the server's own folder, or for files that are fetched the folder of their
/// parts, which is only made when there is something to keep.
struct DoubtFolder: Sendable {
    private let parent: DirectoryHandle
    /// Nothing for the folder that is `parent` itself.
    private let name: String?

    /// Whether other processes keep theirs there at the same time.
    var isShared: Bool { name != nil }

    /// One that is there, and that no other process uses.
    init(_ folder: DirectoryHandle) {
        (parent, name) = (folder, nil)
    }

    /// One that may be missing, and that others use as well.
    init(_ name: String, in parent: DirectoryHandle) {
        (self.parent, self.name) = (parent, name)
    }

    /// - Returns: nothing where it is missing.
    func openIfThere() throws(SystemError) -> DirectoryHandle? {
        guard let name else { return parent }
        do throws(SystemError) {
            return try parent.openDirectory(name)
        } catch {
            guard error.errno == ENOENT else { throw error }
            return nil
        }
    }

    func openOrMake() throws(SystemError) -> DirectoryHandle {
        guard let name else { return parent }
        _ = try parent.makeDirectoryIfMissing(name, mode: 0o700)
        return try parent.openDirectory(name)
    }
}
