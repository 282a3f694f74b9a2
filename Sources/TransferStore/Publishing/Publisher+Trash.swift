internal import CLinux
import Glibc
import TransferModel
import TransferPorts
import TransferSystem

/// What gives way to uploads has its name in the trash before it loses its own.
///
/// All of a batch is linked before the content is synced, so that one sync is about both. What is found then and is what the upload
/// brings, or what the disk has lost of it, is left alone: a second name, even for a moment, would change the file. The publisher
/// does not look for replaced files while a connection's uploads replace none; when one does, it links the rest of the batch with one more
/// sync.
extension Publisher {
    /// What was done to keep what a publication may replace.
    enum Kept {
        case place(ReplacedFiles.Keeping)
        /// It is one that cannot be kept.
        case impossible(stat)
        /// Others that come in its way are not replaced either.
        case failed(Failure)
    }

    /// Gives what a batch is likely to replace its names in the trash.
    func keepReplaced(by batch: [Publication]) {
        guard let part = batch.lazy.compactMap(\.trash).first else { return }
        guard part.expectsReplacing else {
            unlooked = batch[...]
            return
        }
        let isLooked = look(at: batch[...])
        if isLooked, keeping.isEmpty { part.expectsReplacing = false }
    }

    /// The same behind the sync of the content, for what is left of the batch: one upload replaces something.
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

    /// - Returns: whether any of it may replace something.
    private func look(at batch: ArraySlice<Publication>) -> Bool {
        var paths: Set<RelativePath> = []
        // Those of one folder mostly come together. Where it cannot be opened, the publication says why.
        var (folder, directory): (RelativePath??, DirectoryHandle?) = (nil, nil)
        for publication in batch where publication.trash != nil && publication.conflict == .overwrite {
            // Of two uploads to one path the second one replaces the first, which is not there yet.
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

    /// Whether the publication is refused anyway, as far as that can be said.
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

    /// The names in the trash were synced with the content.
    ///
    /// - Parameters:
    ///   - numbers: of the folders.
    ///   - errors: of these.
    func finishKeeping(
        _ numbers: [Int32], _ errors: some Sequence<SystemError?>, for batch: [Publication]
    ) {
        guard !numbers.isEmpty else { return }
        do throws(Failure) {
            try replaced.finish(errors)
        } catch {
            fail(error, for: batch[...])
        }
    }

    /// Nothing is replaced whose name in the trash is not durable.
    private func fail(_ error: Failure, for batch: ArraySlice<Publication>) {
        for publication in batch {
            let key = ObjectIdentifier(publication.staged)
            guard case .place? = keeping[key] else { continue }
            keeping[key] = .failed(error)
            if let batch = publication.trash?.current { publication.trash?.renew(behind: batch) }
        }
    }

    /// Keeps what has the path now, where that was not foreseen: another one than was linked before, or a file that seemed to be the
    /// same. Without the lock, because it takes a sync.
    ///
    /// - Returns: whether there was anything to keep.
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

    /// Whether what has the path has its name in the trash as well, or cannot have one.
    func isKept(_ there: stat?, for publication: Publication) -> Bool {
        // What is neither is the operator's, and there is nothing of it to bring back.
        guard publication.trash != nil, let there, there.isFile || there.isLink else { return true }
        switch keeping[ObjectIdentifier(publication.staged)] {
        case .place(let keeping): return keeping.before.isSame(as: there)
        case .impossible(let other): return ContentVersion(other) == ContentVersion(there)
        case .failed, nil: return false
        }
    }

    /// What has the path, as it was before it got a second name for this publication. What is known of a file is known of it as it was
    /// then.
    func asBefore(_ there: stat, _ publication: Publication) -> stat {
        guard case .place(let keeping)? = keeping[ObjectIdentifier(publication.staged)], keeping.isLinked,
            ContentVersion(there).hasSameContent(as: ContentVersion(keeping.before))
        else { return there }
        return keeping.before
    }

    /// Where what the publication replaces is kept; nil where it is not.
    func kept(by publication: Publication) -> ReplacedFiles.Keeping? {
        guard publication.trash != nil, case .place(let keeping)? = keeping[ObjectIdentifier(publication.staged)] else {
            return nil
        }
        return keeping
    }
}
