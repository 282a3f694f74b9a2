internal import CLinux
import Glibc
package import TransferProtocol
import TransferSystem

extension FileStore {
    /// Publishes verified uploads. When this returns, those that succeeded are under the paths it names, durably if the
    /// store is, and nothing is visible of the others.
    ///
    /// - Returns: one outcome for each publication, in order.
    package func publish(_ batch: [Publication]) -> [Result<Published, StoreError>] {
        let outcomes = Publisher(tree: tree, umask: umask, committer: incoming.committer).publish(batch)
        for (publication, outcome) in zip(batch, outcomes) where outcome.isFinal { publication.staged.discard() }
        return outcomes
    }

    /// Whether an upload with this path has a chance, before its content travels.
    ///
    /// - Parameter size: what the client declared, if it did.
    /// - Returns: `skipped` when the client asked to leave the name as it is and it is taken; nothing to go on.
    /// - Throws: `invalidPath`, `pathConflict`, `storageFailed`.
    package func admit(
        _ path: RelativePath, size: UInt64?, conflict: ConflictPolicy
    ) throws(StoreError) -> Published? {
        let status = try attempt("look at \(path)") { () throws(SystemError) -> stat? in
            do throws(SystemError) {
                return try tree.open(path.parent).status(String(path.name))
            } catch {
                guard error.errno == ENOENT else { throw error }
                return nil
            }
        }
        guard let status else { return nil }
        switch conflict {
        case .skip: return .skipped
        case .keepBoth: return nil
        case .overwrite, .fail:
            let isDirectory = status.st_mode & S_IFMT == S_IFDIR
            let mayBeSame = !isDirectory && size.map { UInt64(status.st_size) == $0 } ?? true
            guard isDirectory || (conflict == .fail && !mayBeSame) else { return nil }
            throw StoreError(.pathConflict, "\(path) is taken by \(isDirectory ? "a directory" : "other content").")
        }
    }

    /// Whether a file of that size has the path: a cheap look at whether an earlier acknowledgement still holds.
    package func holds(_ path: RelativePath, size: UInt64) -> Bool {
        guard let status = try? tree.open(path.parent).status(String(path.name)) else { return false }
        return status.st_mode & S_IFMT == S_IFREG && UInt64(status.st_size) == size
    }
}

extension Result<Published, StoreError> {
    /// Whether nobody will want the bytes that were staged. What the disk could not do now it may do later.
    fileprivate var isFinal: Bool {
        switch self {
        case .success: true
        case .failure(let error): error.code.class != .server
        }
    }
}
