import Synchronization
package import TransferModel
package import TransferPorts
import TransferSystem

/// What the disk has lost. A catalog that cannot be read knows of nothing.
extension KnownUploads {
    /// Whether any file may be known to be rotten: one question for many files. True where the catalog cannot say; one that cannot be
    /// opened has no marks.
    package var hasRotten: Bool {
        do throws(RecordsError) {
            return try records.hasRotten()
        } catch {
            complain(error, unrecorded: 0)
            return error.reason != .unavailable
        }
    }

    /// Whether a file is known to be rotten, or the catalog cannot say: then it is not told to be stored.
    func mayBeRotten(_ file: ContentVersion) -> Bool {
        do throws(RecordsError) {
            return try mark(of: file) != nil
        } catch {
            complain(error, unrecorded: 0)
            return error.reason != .unavailable
        }
    }

    /// Whether a file is known to be rotten. It is asked every time, because a scrub beside this server may have found it just
    /// now.
    package func isRotten(_ file: ContentVersion) -> Bool { rotten(file) != nil }

    /// A file was read, and is not what was acknowledged.
    package func add(rotten file: RottenFile) {
        hadRotten.store(true, ordering: .relaxed)
        do throws(RecordsError) {
            try records.add(rotten: [file])
        } catch {
            complain(error, unrecorded: 0)
        }
    }

    /// What was acknowledged last under a path, if the file there has not been changed by anybody since: one with another
    /// digest is rotten then. A file that a restored copy of the directory has is another one, until a scrub has found it
    /// rotten.
    package func acknowledged(at path: RelativePath, _ file: ContentVersion) -> Digest? {
        indexIfNeeded()
        guard let last = entries(at: [path.string])[0].acknowledged(as: file), let digest = last.digest,
            last.size == file.size
        else { return nil }
        if let known = last.version, known.hasSameContent(as: file) { return digest }
        return rotten(file)?.digest == digest ? digest : nil
    }

    /// The mark of a rotten file, which it keeps with other attributes, also where the catalog was not told of these so far.
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
    /// The file, if it is sound since it was published, so that a mark of rot goes: one that was written is, and such a mark is of an
    /// earlier file, which is gone and whose inode number came again. One that was compared is sound if the mark is from before: the disk
    /// may lose the content behind the comparison, and a mark from then stays.
    ///
    /// - Parameter marked: files that were known to be rotten before they were compared.
    func soundVersion(_ marked: [ContentVersion]) -> ContentVersion? {
        guard let version, state != .alreadyStored || marked.contains(where: version.hasSameContent) else { return nil }
        return version
    }
}

extension [CatalogEntry] {
    /// What a file is to be judged by that has the path of all of these: what was acknowledged last. A file that came later, and is
    /// the very one of an earlier upload, is judged by that.
    fileprivate func acknowledged(as file: ContentVersion) -> CatalogEntry? {
        let last = self.max { $0.committed < $1.committed }
        guard let known = last?.version, file.mayBeEarlier(than: known) else { return last }
        let own = filter { $0.version?.hasSameContent(as: file) ?? false }
        return own.max { $0.committed < $1.committed } ?? last
    }
}

extension Failure {
    /// To whoever wants a file that is known to be rotten.
    package static func contentLost(_ path: RelativePath) -> Failure {
        Failure(
            .contentLost,
            "\(path) no longer is what was stored: the server's disk has lost it. Whoever has it can push it again, which "
                + "puts it right.")
    }
}
