internal import CLinux
import Glibc
package import TransferModel
package import TransferSystem

extension FileStore {
    /// Publishes verified uploads. When this returns, those that succeeded are under the paths it names, durably if the
    /// store is, and nothing is visible of the others.
    ///
    /// - Parameter acknowledged: the digest that a file was acknowledged with, where nobody has changed it since. An upload
    ///   with that content takes the place of one that has other content by now. Only asked about files that do.
    /// - Parameter mayReplace: whether the sender may replace a file, where it may not replace all.
    /// - Returns: one outcome for each publication, in order.
    package func publish(
        _ batch: [Publication], acknowledged: @escaping (RelativePath, FileIdentity) -> Digest? = { _, _ in nil },
        mayReplace: ((RelativePath, FileIdentity) -> Bool)? = nil
    ) -> [Result<Published, StoreError>] {
        if space != nil, let refused = refusal(batch) { return refused }
        let publisher = Publisher(
            tree: tree, umask: umask, committer: incoming.committer, acknowledged: acknowledged, mayReplace: mayReplace)
        let outcomes = publisher.publish(batch)
        for (publication, outcome) in zip(batch, outcomes) {
            if outcome.isFinal { publication.staged.discard() } else { publication.staged.discardUnlessResumable() }
        }
        return outcomes
    }

    /// Small uploads are not looked at one by one, so the disk may have become too full by now: one look for all.
    ///
    /// - Returns: nothing to go on.
    private func refusal(_ batch: [Publication]) -> [Result<Published, StoreError>]? {
        do throws(StoreError) {
            for publication in batch { if try publication.staged.checkRoom() { break } }
            return nil
        } catch {
            for publication in batch { publication.staged.discardUnlessResumable() }
            return batch.map { _ in .failure(error) }
        }
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
            let mayBeSame = !isDirectory && size.map { UInt64(clamping: status.st_size) == $0 } ?? true
            guard isDirectory || (conflict == .fail && !mayBeSame) else { return nil }
            throw StoreError(.pathConflict, "\(path) is taken by \(isDirectory ? "a directory" : "other content").")
        }
    }

    /// The file that has the path, without a look at its content.
    ///
    /// - Returns: nothing when there is none, or something that is no file.
    package func identity(at path: RelativePath) -> FileIdentity? {
        guard let status = try? tree.open(path.parent).status(String(path.name)), status.st_mode & S_IFMT == S_IFREG
        else { return nil }
        return FileIdentity(status)
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
