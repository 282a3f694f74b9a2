import TransferModel
import TransferPorts
import TransferSystem

/// Content that is stored under its path already is not synced a second time: a client that sends the same again, and again, would have
/// the disk do the work of as many new files, and all others wait for it.
///
/// The publisher compares such content before the sync of the batch. When the upload gets its turn, the file must still be the same
/// version; otherwise the upload is synced by itself then.
extension Publisher {
    /// A file with the path and the content of an upload.
    struct StoredCopy {
        let version: ContentVersion
        /// When it was looked at, as the committer counts.
        let moment: Int
    }

    /// Looks which uploads have their paths and contents already. Nothing is found where a sync has failed: then the content in memory is
    /// no proof.
    func findStored(_ batch: [Publication]) {
        guard committer.isNeeded, !committer.isInDoubt else { return }
        // Those of one folder mostly come together. Where it cannot be opened, the publication says why.
        var (folder, directory): (RelativePath??, DirectoryHandle?) = (nil, nil)
        for publication in batch where publication.condition == nil {
            let parent = publication.path.parent
            if folder != .some(parent) { (folder, directory) = (.some(parent), try? tree.open(parent)) }
            guard let directory else { continue }
            stored[ObjectIdentifier(publication.staged)] = find(publication, in: directory)
        }
    }

    /// - Returns: nil also when the file cannot be read; the publication finds that out by itself.
    private func find(_ publication: Publication, in directory: DirectoryHandle) -> StoredCopy? {
        let target = TargetName(directory: directory, name: String(publication.path.name))
        let moment = committer.moment
        var comparison = ContentComparison(publication)
        do throws(Failure) {
            guard let there = try target.version(), there.size == publication.size,
                publication.mayCompare?(publication.path, there) ?? true,
                let file = try target.find(publication, &comparison), let version = file.version
            else { return nil }
            return StoredCopy(version: version, moment: moment)
        } catch {
            return nil
        }
    }

    func isStored(_ publication: Publication) -> Bool { stored[ObjectIdentifier(publication.staged)] != nil }

    /// What was found for a publication, if it is still there.
    ///
    /// - Returns: nil when nothing was found, or when the file has changed since. Then the content is durable.
    /// - Throws: when the content cannot be made durable.
    func takeStored(
        _ target: TargetName, _ publication: Publication
    ) throws(Failure) -> (file: FoundFile, moment: Int)? {
        guard let stored = stored.removeValue(forKey: ObjectIdentifier(publication.staged)) else { return nil }
        if !committer.isInDoubt, let file = try target.file(stored.version) { return (file, stored.moment) }
        try prepare(publication)
        let errors = committer.commit([publication.staged.number], bytes: publication.size, since: failures)
        if case let error?? = errors.first {
            publication.staged.discard()
            throw Failure(error, doing: "make the content durable")
        }
        return nil
    }
}
