import Glibc
package import TransferModel
package import TransferPorts
import TransferSystem

/// Removes what clients ask to be removed. What is gone is durably gone when `commit` has returned. Belongs to one task at
/// a time.
package final class StoreRemover: TreeRemover {
    /// How many syncs had failed: of the whole file system, and of single directories by this remover.
    struct Moment {
        let failures: Int
        let failedCommits: Int
    }

    let store: FileStore
    /// Directories that what is removed stands in, of this batch.
    private var parents: [RelativePath?: DirectoryHandle] = [:]
    /// Where something is gone and that is not durable yet, and when it began to go.
    private var ended: [(parent: DirectoryHandle, moment: Moment)] = []
    private var failedCommits = 0
    private var lastError: Failure?

    /// Directories that may be open at once: a batch may name thousands, and descriptors are few.
    private static let mostOpened = 64

    init(_ store: FileStore) {
        self.store = store
    }

    package var isFull: Bool { parents.count >= Self.mostOpened }

    package func begin(
        _ path: RelativePath, isRecursive: Bool, of version: FileVersion? = nil
    ) throws(Failure) -> any TreeRemoval {
        // Removals that have failed leave nothing to sync, and need no folder any more.
        if ended.isEmpty { parents = [:] }
        let parent: DirectoryHandle
        do throws(SystemError) {
            parent = try directory(path.parent)
        } catch {
            throw Failure(error, reading: path)
        }
        return try Removal(path, in: parent, isRecursive: isRecursive, of: version, self)
    }

    var moment: Moment { Moment(failures: store.incoming.committer.failures, failedCommits: failedCommits) }

    /// A removal has come to its end.
    func ended(in parent: DirectoryHandle, since moment: Moment) { ended.append((parent, moment)) }

    package func commit() throws(Failure) {
        parents = [:]
        let ended = ended
        self.ended = []
        // The kernel has told that commit of the failure, and tells this one nothing, although the directory is the same.
        if let lastError, ended.contains(where: { $0.moment.failedCommits < failedCommits }) { throw lastError }
        let directories = Dictionary(ended.map { (ObjectIdentifier($0.parent), $0.parent) }) { first, _ in first }
        let committer = store.incoming.committer
        let failures = ended.map(\.moment.failures).min() ?? committer.failures
        for case let error? in committer.commit(Array(directories.values), since: failures) {
            let failure = Failure(error, doing: "make the removal durable")
            failedCommits += 1
            lastError = failure
            throw failure
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
    package func remover() -> any TreeRemover { StoreRemover(self) }
}
