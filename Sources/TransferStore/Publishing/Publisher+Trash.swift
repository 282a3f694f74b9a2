internal import CLinux
import Glibc
import TransferModel
import TransferPorts
import TransferSystem

/// A file that an upload replaces gets its name in the trash before it loses its own.
///
/// The replaced files of a batch are linked into the trash before the content is synced, so that one sync covers both.
/// A file that has the upload's content, or has lost it, is not linked: a second name, even for a moment, would change
/// its version. While a connection's uploads replace no files, the publisher does not look for replaced files; once an
/// upload replaces a file, the publisher links the replaced files of the rest of the batch, with one more sync.
extension Publisher {
    /// How the file that a publication may replace is kept.
    enum Kept {
        case place(ReplacedFiles.Keeping)
        /// The file cannot be kept.
        case impossible(stat)
        /// Keeping has failed; no file is replaced at this path.
        case failed(Failure)
    }

    /// Links the files that a batch is likely to replace into the trash.
    func keepReplaced(by batch: [Publication]) {
        guard let part = batch.lazy.compactMap(\.trash).first else { return }
        guard part.expectsReplacing else {
            unlooked = batch[...]
            return
        }
        let isLooked = look(at: batch[...])
        if isLooked, keeping.isEmpty { part.expectsReplacing = false }
    }

    /// Links the files that the rest of a batch is likely to replace. Called when an upload of the batch replaces a
    /// file, after the content has been synced.
    private func keepRest() {
        let rest = unlooked
        unlooked = []
        rest.lazy.compactMap(\.trash).first?.expectsReplacing = true
        _ = look(at: rest)
        do throws(Failure) {
            try replaced.settle(since: failures)
        } catch {
            fail(error, for: rest)
        }
    }

    /// - Returns: whether any upload of the batch may replace a file.
    private func look(at batch: ArraySlice<Publication>) -> Bool {
        var paths: Set<RelativePath> = []
        // Uploads into one folder are usually adjacent. If the folder cannot be opened, the publication reports why.
        var (folder, directory): (RelativePath??, DirectoryHandle?) = (nil, nil)
        for publication in batch where publication.trash != nil && publication.conflict == .overwrite {
            // The second of two uploads to one path replaces the first, which does not exist yet.
            guard paths.insert(publication.path).inserted else { continue }
            let parent = publication.path.parent
            if folder != .some(parent) { (folder, directory) = (.some(parent), try? tree.open(parent)) }
            guard let directory else { continue }
            let key = ObjectIdentifier(publication.staged)
            do throws(Failure) {
                keeping[key] = try keepReplaced(by: publication, in: directory)
            } catch {
                keeping[key] = .failed(error)
            }
        }
        return !paths.isEmpty
    }

    private func keepReplaced(
        by publication: Publication, in directory: DirectoryHandle
    ) throws(Failure) -> Kept? {
        let target = TargetName(directory: directory, name: String(publication.path.name))
        guard let there = try target.status(), there.isFile || there.isLink, mayGiveWay(there, to: publication),
            try !isTheSame(there, target, publication)
        else { return nil }
        return try keep(there, in: directory, for: publication)
    }

    private func keep(
        _ there: stat, in directory: DirectoryHandle, for publication: Publication
    ) throws(Failure) -> Kept {
        guard let part = publication.trash else { return .impossible(there) }
        let keeping = try replaced.keep(publication.path, there, in: directory, to: part, since: failures)
        return keeping.map { .place($0) } ?? .impossible(there)
    }

    /// Whether the file may be replaced by the publication, as far as that is known before the lock is taken.
    private func mayGiveWay(_ there: stat, to publication: Publication) -> Bool {
        do throws(Failure) {
            try publication.condition?.check(there)
            try publication.compared?.check(there, publication.path)
            try publication.checkVersion(there)
            try publication.staged.incoming.check(there, publication.command, publication.path, in: tree)
            guard let mayReplace else { return true }
            return there.isFile ? try mayReplace(publication.path, ContentVersion(there)) : false
        } catch {
            return false
        }
    }

    private func isTheSame(
        _ there: stat, _ target: TargetName, _ publication: Publication
    ) throws(Failure) -> Bool {
        guard there.isFile, UInt64(clamping: there.st_size) == publication.size else { return false }
        if isStored(publication) { return true }
        var comparison = ContentComparison(publication)
        if try target.find(publication, &comparison) != nil { return true }
        return try isLost(ContentVersion(there), target, publication.path, publication)
    }

    /// Called after the names in the trash were synced with the content.
    ///
    /// - Parameters:
    ///   - folders: the folders in the trash.
    ///   - errors: the results of their syncs, in the same order.
    func finishKeeping(
        _ folders: [DirectoryHandle], _ errors: some Sequence<SystemError?>, for batch: [Publication]
    ) {
        guard !folders.isEmpty else { return }
        do throws(Failure) {
            try replaced.finish(errors)
        } catch {
            fail(error, for: batch[...])
        }
    }

    /// No file is replaced if its name in the trash is not durable.
    private func fail(_ error: Failure, for batch: ArraySlice<Publication>) {
        for publication in batch {
            let key = ObjectIdentifier(publication.staged)
            guard case .place? = keeping[key] else { continue }
            keeping[key] = .failed(error)
            if let batch = publication.trash?.current { publication.trash?.renew(behind: batch) }
        }
    }

    /// Keeps the file that has the path now if it is not the one that was linked before, or if it seemed to have the
    /// upload's content. Called without the lock for replacements, because it makes a sync.
    ///
    /// - Returns: whether there was a file to keep.
    func keepMore(_ target: TargetName, _ publication: Publication) throws(Failure) -> Bool {
        guard publication.trash != nil else { return false }
        let key = ObjectIdentifier(publication.staged)
        let isFirst = !unlooked.isEmpty
        if isFirst { keepRest() }
        if case .failed(let error)? = keeping[key] { throw error }
        if isFirst, case .place? = keeping[key] { return true }
        guard let there = try target.status(), there.isFile || there.isLink, !isKept(there, for: publication) else {
            return false
        }
        if case .place(let old)? = keeping[key] { replaced.undo(old) }
        keeping[key] = nil
        keeping[key] = try keep(there, in: target.directory, for: publication)
        try replaced.settle(since: failures)
        return true
    }

    /// Whether the file at the path has a name in the trash as well, or cannot have one.
    func isKept(_ there: stat?, for publication: Publication) -> Bool {
        // Anything other than a file or link belongs to the operator, and has no content to bring back.
        guard publication.trash != nil, let there, there.isFile || there.isLink else { return true }
        switch keeping[ObjectIdentifier(publication.staged)] {
        case .place(let keeping): return keeping.before.isSame(as: there)
        case .impossible(let other): return ContentVersion(other) == ContentVersion(there)
        case .failed, nil: return false
        }
    }

    /// The status of the file at the path from before it got a second name for this publication, because the records
    /// have the version of that time.
    func asBefore(_ there: stat, _ publication: Publication) -> stat {
        guard case .place(let keeping)? = keeping[ObjectIdentifier(publication.staged)], keeping.isLinked,
            ContentVersion(there).hasSameContent(as: ContentVersion(keeping.before))
        else { return there }
        return keeping.before
    }

    /// The place in the trash of the file that the publication replaces; nil if it is not kept.
    func kept(by publication: Publication) -> ReplacedFiles.Keeping? {
        guard publication.trash != nil, case .place(let keeping)? = keeping[ObjectIdentifier(publication.staged)] else {
            return nil
        }
        return keeping
    }
}
