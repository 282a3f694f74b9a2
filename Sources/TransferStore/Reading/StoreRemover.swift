import Glibc
package import TransferModel
package import TransferPorts
import TransferSystem

/// Removes entries for clients. Removals are durable when `commit` has returned. Belongs to one task at a time.
package final class StoreRemover: TreeRemover {
    /// The numbers of failed syncs: of the file system, and of single directories by this remover.
    struct Moment {
        let failures: Int
        let failedCommits: Int
    }

    let store: FileStore
    /// The open directories that contain the removed entries of this batch.
    private var parents: [RelativePath?: DirectoryHandle] = [:]
    /// The directories with finished removals that are not durable yet, with the moments when these began.
    private var ended: [(parent: DirectoryHandle, moment: Moment)] = []
    private var failedCommits = 0
    private var lastError: Failure?

    /// The most directories that are open at once: a batch may name thousands, and descriptors are limited.
    private static let mostOpened = 64

    init(_ store: FileStore) {
        self.store = store
    }

    package var isFull: Bool { parents.count >= Self.mostOpened }

    package func begin(
        _ path: RelativePath, isRecursive: Bool, of version: FileVersion? = nil
    ) throws(Failure) -> any TreeRemoval {
        // Failed removals leave nothing to sync, and need no open directory.
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

    /// Called when a removal has finished.
    func ended(in parent: DirectoryHandle, since moment: Moment) { ended.append((parent, moment)) }

    package func commit() throws(Failure) {
        parents = [:]
        let ended = ended
        self.ended = []
        // The kernel has reported the failure to the earlier commit, and will not report it again for the same
        // directory.
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
        // Opens a separate descriptor, because the kernel reports a failure once to each descriptor.
        let opened = path == nil ? try store.tree.root.openDirectory(".") : try store.tree.open(path)
        parents[path] = opened
        return opened
    }
}

extension FileStore {
    /// A remover for one batch of removals.
    package func remover() -> any TreeRemover { StoreRemover(self) }
}
