import Glibc
package import TransferModel
import TransferPorts
import TransferSystem

/// Removes what clients ask to be removed. What is gone is durably gone when `commit` has returned. Belongs to one task at
/// a time.
package final class StoreRemover {
    let store: FileStore
    /// Directories that what is removed stands in, of this batch.
    private var parents: [RelativePath?: DirectoryHandle] = [:]

    /// Directories that may be open at once: a batch may name thousands, and descriptors are few.
    private static let mostOpened = 64

    init(_ store: FileStore) {
        self.store = store
    }

    /// Whether `commit` has to be called before another removal.
    package var isFull: Bool { parents.count >= Self.mostOpened }

    /// - Parameters:
    ///   - isRecursive: whether it may be a directory.
    ///   - version: that a file has to have still; nothing for whatever is there.
    /// - Throws: `notFound`; `wrongForm` for a directory that was not asked for; `fileChanged` for another version.
    package func begin(
        _ path: RelativePath, isRecursive: Bool, of version: FileVersion? = nil
    ) throws(Failure) -> Removal {
        let parent: DirectoryHandle
        do throws(SystemError) {
            parent = try directory(path.parent)
        } catch {
            throw Failure(error, reading: path)
        }
        return try Removal(path, in: parent, isRecursive: isRecursive, of: version, store)
    }

    /// Makes durable that the names are gone. The next removals are another batch.
    ///
    /// - Throws: what the disk says, which then holds for all of them.
    package func commit(_ removals: [Removal]) throws(Failure) {
        parents = [:]
        let directories = Dictionary(removals.map { (ObjectIdentifier($0.parent), $0.parent) }) { first, _ in first }
        let committer = store.incoming.committer
        let failures = removals.map(\.failures).min() ?? committer.failures
        for case let error? in committer.commit(directories.values.map(\.number), since: failures) {
            throw Failure(error, doing: "make the removal durable")
        }
    }

    private func directory(_ path: RelativePath?) throws(SystemError) -> DirectoryHandle {
        if let open = parents[path] { return open }
        // A descriptor of its own, because the kernel tells each of a failure once.
        let opened = path == nil ? try store.tree.root.openDirectory(".") : try store.tree.open(path)
        parents[path] = opened
        return opened
    }
}

extension FileStore {
    /// To remove files and directories with.
    package func remover() -> StoreRemover { StoreRemover(self) }
}
