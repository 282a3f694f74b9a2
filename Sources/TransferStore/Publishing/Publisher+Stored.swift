import TransferModel
import TransferPorts
import TransferSystem

/// Uploads whose path and content are stored already are not synced again. Otherwise a client that sends the same files
/// repeatedly would cost the disk as much as new files, and all other clients would wait for it.
///
/// The publisher compares such content before the sync of the batch. When the upload gets its turn, the file must still be the same
/// version; otherwise the upload is synced by itself then.
extension Publisher {
    /// A file with the path and the content of an upload.
    struct StoredCopy {
        let version: ContentVersion
        /// The committer's moment before it was read.
        let moment: Int
    }

    /// Finds the uploads whose path and content are stored already. After a failed sync it finds none, because content
    /// in memory is no proof then.
    func findStored(_ batch: [Publication]) {
        guard committer.isNeeded, !committer.isInDoubt else { return }
        // Uploads into one folder are usually adjacent. If the folder cannot be opened, the publication reports why.
        var (folder, directory): (RelativePath??, DirectoryHandle?) = (nil, nil)
        for publication in batch where publication.condition == nil {
            let parent = publication.path.parent
            if folder != .some(parent) { (folder, directory) = (.some(parent), try? tree.open(parent)) }
            guard let directory else { continue }
            stored[ObjectIdentifier(publication.staged)] = find(publication, in: directory)
        }
    }

    /// - Returns: nil also if the file cannot be read, which the publication reports itself.
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

    /// The file that was found for a publication, if it is unchanged.
    ///
    /// - Returns: nil if no file was found, or if it has changed since. Then the content of the upload is durable.
    /// - Throws: if the content cannot be synced.
    func takeStored(
        _ target: TargetName, _ publication: Publication
    ) throws(Failure) -> (file: FoundFile, moment: Int)? {
        guard let stored = stored.removeValue(forKey: ObjectIdentifier(publication.staged)) else { return nil }
        if !committer.isInDoubt, let file = try target.file(stored.version) { return (file, stored.moment) }
        try prepare(publication)
        let errors = committer.commit([publication.staged], bytes: publication.size, since: failures)
        if case let error?? = errors.first {
            publication.staged.discard()
            throw Failure(error, doing: "make the content durable")
        }
        return nil
    }
}
