internal import CLinux
import Glibc
package import TransferModel
import TransferSystem

extension FileStore {
    package func publish(
        _ batch: [Publication], acknowledged: @escaping (RelativePath, ContentVersion) -> Digest? = { _, _ in nil },
        mayReplace: ((RelativePath, ContentVersion) throws(Failure) -> Bool)? = nil,
        touched: ([TouchedFile]) -> Void = { _ in }
    ) -> [Result<PublicationOutcome, Failure>] {
        if space != nil, let refused = refusal(batch) { return refused }
        let publisher = Publisher(
            tree: tree, umask: umask, rights: rights, incoming: incoming, quota: space?.quota,
            acknowledged: acknowledged, mayReplace: mayReplace)
        let outcomes = publisher.publish(batch, touched: touched)
        for (publication, outcome) in zip(batch, outcomes) {
            if outcome.isFinal { publication.staged.discard() } else { publication.staged.discardUnlessResumable() }
        }
        return outcomes
    }

    /// Small uploads are not looked at one by one, so the disk may have become too full by now: one look for all.
    ///
    /// - Returns: nothing to go on.
    private func refusal(_ batch: [Publication]) -> [Result<PublicationOutcome, Failure>]? {
        do throws(Failure) {
            for publication in batch { if try publication.staged.checkRoom() { break } }
            return nil
        } catch {
            for publication in batch { publication.staged.discardUnlessResumable() }
            return batch.map { _ in .failure(error) }
        }
    }

    package func admit(
        _ path: RelativePath, size: UInt64?, conflict: ConflictPolicy
    ) throws(Failure) -> PublicationOutcome? {
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
            throw Failure(.pathConflict, "\(path) is taken by \(isDirectory ? "a directory" : "other content").")
        }
    }

    /// The file that has the path, without a look at its content.
    ///
    /// - Returns: nothing when there is none, or something that is no file.
    package func version(at path: RelativePath) -> ContentVersion? {
        guard let status = try? tree.open(path.parent).status(String(path.name)), status.st_mode & S_IFMT == S_IFREG
        else { return nil }
        return ContentVersion(status)
    }

    package func isAboutToGiveWay(_ version: ContentVersion, knownAs before: ContentVersion) -> Bool {
        version.hasSameContent(as: before) && incoming.keeps.withLock { $0.contains(before) }
    }

    package func exists(_ path: RelativePath) -> Bool {
        guard let status = try? tree.open(path.parent).status(String(path.name)) else { return false }
        return status.isFile || status.isDirectory || status.isLink
    }

    package func missingFolders(_ folder: RelativePath?, below top: RelativePath?) -> [RelativePath] {
        var (missing, next): ([RelativePath], RelativePath?) = ([], folder)
        while let folder = next, folder != top, (try? tree.open(folder)) == nil {
            missing.append(folder)
            next = folder.parent
        }
        return missing
    }

    /// The same for many paths at once, in their order. Those of one folder should stand together: it is opened once then.
    package func versions(at paths: [RelativePath]) -> [ContentVersion?] {
        let reader = StoreReader(tree)
        return paths.map { path in reader.attributes(at: path).flatMap { $0.isDirectory ? nil : $0.version } }
    }

    package func versions(of names: [String], in folder: RelativePath?) -> [ContentVersion?] {
        let directory = try? tree.open(folder)
        return names.map { name in
            guard let status = try? directory?.status(name), status.isFile else { return nil }
            return ContentVersion(status)
        }
    }
}

extension Result<PublicationOutcome, Failure> {
    /// Whether nobody will want the bytes that were staged. What the disk could not do now it may do later.
    fileprivate var isFinal: Bool {
        switch self {
        case .success: true
        case .failure(let error): error.code.class != .server
        }
    }
}
