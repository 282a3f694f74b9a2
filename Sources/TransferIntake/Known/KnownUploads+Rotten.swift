import Synchronization
package import TransferModel
package import TransferPorts
import TransferSystem

/// Files whose content the disk has lost. A catalog that cannot be opened has no marks of them.
extension KnownUploads {
    /// Whether any file is known to be rotten: one query instead of one for each file. True if the catalog cannot be
    /// read, but false if it cannot be opened.
    package var hasRotten: Bool {
        do throws(RecordsError) {
            return try records.hasRotten()
        } catch {
            complain(error, unrecorded: 0)
            return error.reason != .unavailable
        }
    }

    /// Whether a file is known to be rotten, or the catalog cannot be read. Such a file is not reported as stored.
    func mayBeRotten(_ file: ContentVersion) -> Bool {
        do throws(RecordsError) {
            return try mark(of: file) != nil
        } catch {
            complain(error, unrecorded: 0)
            return error.reason != .unavailable
        }
    }

    /// Whether a file is known to be rotten. The catalog is asked every time, because a scrub beside this server may
    /// have found the file just now.
    package func isRotten(_ file: ContentVersion) -> Bool { rotten(file) != nil }

    /// Marks a file that was read and is not what was acknowledged.
    package func add(rotten file: RottenFile) {
        hadRotten.store(true, ordering: .relaxed)
        do throws(RecordsError) {
            try records.add(rotten: [file])
        } catch {
            complain(error, unrecorded: 0)
        }
    }

    /// The digest that was acknowledged last under a path, if the file there was not changed since; if the file has
    /// another digest, it is rotten. In a restored copy of the directory the file has another version, and nil is
    /// returned until a scrub has found the file rotten.
    package func acknowledged(at path: RelativePath, _ file: ContentVersion) -> Digest? {
        indexIfNeeded()
        guard let last = entries(at: [path.string])[0].acknowledged(as: file), let digest = last.digest,
            last.size == file.size
        else { return nil }
        if let known = last.version, known.hasSameContent(as: file) { return digest }
        return rotten(file)?.digest == digest ? digest : nil
    }

    /// The mark of a rotten file. It also applies after the file's attributes were changed, even if the catalog has not
    /// recorded that yet.
    private func mark(of file: ContentVersion) throws(RecordsError) -> RottenFile? {
        for version in untold.withLock({ $0.versions(of: file) }) {
            if let mark = try records.rotten(version) { return mark }
        }
        return nil
    }

    private func rotten(_ file: ContentVersion) -> RottenFile? {
        do throws(RecordsError) {
            return try mark(of: file)
        } catch {
            complain(error, unrecorded: 0)
            return nil
        }
    }
}

extension CatalogEntry {
    /// The version of the file, if it is sound since its publication, so that a mark of rot can be removed. A file that
    /// was written is sound: its mark is of an earlier file with the same inode number. A file that was compared is
    /// sound if the mark is older than the comparison. Newer marks stay, because the disk may have lost the content
    /// after the comparison.
    ///
    /// - Parameter marked: files that were known to be rotten before they were compared.
    func soundVersion(_ marked: [ContentVersion]) -> ContentVersion? {
        guard let version, state != .alreadyStored || marked.contains(where: version.hasSameContent) else { return nil }
        return version
    }
}

extension [CatalogEntry] {
    /// The entry by which a file at the common path of these entries is judged: the one that was acknowledged last. If
    /// the file is older than that entry and is exactly the file of an earlier upload, the entry of the earlier upload
    /// counts.
    fileprivate func acknowledged(as file: ContentVersion) -> CatalogEntry? {
        let last = self.max { $0.committed < $1.committed }
        guard let known = last?.version, file.mayBeEarlier(than: known) else { return last }
        let own = filter { $0.version?.hasSameContent(as: file) ?? false }
        return own.max { $0.committed < $1.committed } ?? last
    }
}

extension Failure {
    /// For clients that want a file that is known to be rotten.
    package static func contentLost(_ path: RelativePath) -> Failure {
        Failure(
            .contentLost,
            "The server's disk has damaged \(path). Push the file again to repair it.")
    }
}
