internal import CLinux
package import TransferModel
package import TransferPorts
import TransferSystem

/// Publishes a batch of uploads: makes their bytes durable, gives them their names, and makes the names durable, each
/// directory once for the whole batch.
///
/// The order matters: content first, then the name, then the directory. After a crash between any two of them a name
/// either is not there or stands for the whole content.
final class Publisher {
    private let permissionMask: UInt32
    private let rights: OwnerRights
    let committer: Committer
    let tree: DirectoryTree
    private let acknowledged: (RelativePath, ContentVersion) -> Digest?
    let mayReplace: ((RelativePath, ContentVersion) throws(Failure) -> Bool)?
    private let directories: BatchDirectories
    /// Files that were there already and whose content has to be made durable, because an upload is acknowledged for it.
    private var found: [FoundFile] = []
    /// When the last of them was looked at, as the committer counts.
    private var lastLook: Int?
    /// Of an early sync; counts for the whole batch.
    private var failure: Failure?
    /// Syncs that had failed when the first upload of the batch was staged.
    var failures = 0
    /// What gives way to the batch and is kept.
    let replaced: ReplacedFiles
    var keeping: [ObjectIdentifier: Kept] = [:]
    /// What the publications found that are stored already and were not synced.
    var stored: [ObjectIdentifier: StoredCopy] = [:]
    /// The publications of the batch that are still to be placed, if the publisher has not looked which files they replace.
    var unlooked: ArraySlice<Publication> = []

    /// Directories kept open at once, but for those on one path, and files of others: a batch may name thousands, and
    /// descriptors are few.
    private static let mostOpened = 64

    /// - Parameters:
    ///   - umask: permission bits that files lose, unless theirs are taken as they are.
    ///   - rights: those that files have in any case.
    ///   - incoming: of the directory, whose trash has what gives way.
    ///   - quota: counts what is stored in the directory.
    ///   - acknowledged: the digest that a file was acknowledged with, where nobody has changed it since.
    ///   - mayReplace: whether a file may be replaced; nothing where all may.
    init(
        tree: DirectoryTree, umask: UInt32, rights: OwnerRights = .none, incoming: Incoming, quota: Quota? = nil,
        acknowledged: @escaping (RelativePath, ContentVersion) -> Digest? = { _, _ in nil },
        mayReplace: ((RelativePath, ContentVersion) throws(Failure) -> Bool)? = nil
    ) {
        (self.acknowledged, self.mayReplace) = (acknowledged, mayReplace)
        (self.tree, committer) = (tree, incoming.committer)
        directories = BatchDirectories(tree, committer)
        replaced = ReplacedFiles(tree, incoming, quota)
        (permissionMask, self.rights) = (~umask, rights)
    }

    func publish(_ batch: [Publication]) -> PublishedBatch {
        defer { directories.close() }
        let outcomes = store(batch)
        return PublishedBatch(outcomes: outcomes, touched: replaced.close(), keeping: replaced.touching)
    }

    private func store(_ batch: [Publication]) -> [Result<PublicationOutcome, Failure>] {
        failures = batch.map(\.staged.failures).min() ?? 0
        findStored(batch)
        keepReplaced(by: batch)
        defer { unlooked = [] }
        let contents = makeContentDurable(batch)
        let outcomes = zip(batch, contents).map { publication, content in
            defer { unlooked = unlooked.dropFirst() }
            return content.flatMap {
                Result { () throws(Failure) in try place(publication, in: try directory(publication.path.parent)) }
            }
        }
        do throws(Failure) {
            if let failure { throw failure }
            try makeNamesDurable()
            return outcomes
        } catch {
            // A directory made on the way may be the one that failed, so one failure is everybody's: acknowledging too
            // little is safe. The names stay, because others may have been acknowledged for the same content since.
            return outcomes.map { $0.flatMap { _ in .failure(error) } }
        }
    }

    private func makeContentDurable(_ batch: [Publication]) -> [Result<Void, Failure>] {
        var outcomes = batch.map { publication in
            Result { () throws(Failure) in if !isStored(publication) { try prepare(publication) } }
        }
        let ready = batch.indices.filter { index in
            if case .success = outcomes[index] { !isStored(batch[index]) } else { false }
        }
        guard !ready.isEmpty else { return outcomes }
        let bytes = ready.reduce(UInt64(0)) { $0.addingClamped(batch[$1].size) }
        // The names in the trash have to be durable before what has them loses its own: that is one sync for all of it.
        let (numbers, trash) = (ready.map { batch[$0].staged.number }, replaced.unsynced)
        let errors = committer.commit(numbers + trash, bytes: bytes, since: failures, making: replaced.made)
        for (index, error) in zip(ready, errors) {
            guard let error else { continue }
            outcomes[index] = .failure(Failure(error, doing: "make the content durable"))
            batch[index].staged.discard()
        }
        finishKeeping(trash, errors.dropFirst(ready.count), for: batch)
        return outcomes
    }

    func prepare(_ publication: Publication) throws(Failure) {
        try setAttributes(publication)
        guard committer.isNeeded else { return }
        try attempt("take the part of the upload") { () throws(SystemError) in
            try publication.staged.withdraw(id: publication.id)
        }
    }

    private func setAttributes(_ publication: Publication) throws(Failure) {
        try attempt("set the file's attributes") { () throws(SystemError) in
            let mode = FileStore.mode(publication.permissions)
            let masked = mode & permissionMask
            let wanted = (publication.keepsPermissions ? mode : masked) | mode_t(rights.file)
            try publication.staged.setAttributes(
                modified: publication.modified, permissions: wanted,
                isExact: publication.keepsPermissions || wanted != masked, publication.attributes)
        }
    }

    private func makeNamesDurable() throws(Failure) {
        let errors = committer.commit(found.map(\.number), since: failures, making: directories.made)
        for case let error? in errors {
            throw Failure(error, doing: "make the content durable")
        }
        // One that fails leaves the other to be synced: what is made and never synced would be doubted for nothing.
        let trash = Result { () throws(Failure) in try replaced.settle(since: failures) }
        try directories.commit(since: failures)
        try trash.get()
        // Others may have been told of what was lost of these files, or of their names, before the syncs above.
        guard let lastLook, committer.isInDoubt(about: lastLook) else { return }
        throw .doubtedContent
    }

    /// Makes the names so far durable, to have the descriptors back.
    private func closeAll() {
        do throws(Failure) {
            try makeNamesDurable()
        } catch {
            failure = failure ?? error
        }
        directories.close()
        found.removeAll()
    }

    private func directory(_ path: RelativePath?) throws(Failure) -> DirectoryHandle {
        if directories.count >= Self.mostOpened, !directories.isOpen(path) { closeAll() }
        return try directories.open(path)
    }

    private func place(_ publication: Publication, in directory: DirectoryHandle) throws(Failure)
        -> PublicationOutcome
    {
        announce(publication)
        if let condition = publication.condition { return try place(publication, if: condition, in: directory) }
        var path = publication.path
        let wanted = TargetName(directory: directory, name: String(path.name))
        if let (file, moment) = try takeStored(wanted, publication) {
            return useStored(file, under: path, in: directory, for: publication, at: moment)
        }
        var comparison = ContentComparison(publication)
        for number in 1...ConflictPolicy.mostNumbers {
            let target = TargetName(directory: directory, name: String(path.name))
            if let outcome = try take(target, path, publication) { return outcome }
            if let outcome = try compare(target, path, publication, &comparison) { return outcome }
            switch publication.conflict {
            case .keepBoth: path = try numbered(publication.path, number)
            case .skip: return .skipped
            case .fail: throw .isTaken(path)
            case .overwrite:
                try replace(target, publication)
                return .committed(path, publication.staged.version)
            }
        }
        throw Failure(.pathConflict, "\(publication.path) and all its numbered names are taken.")
    }

    /// What has the name may be what is to be published, now or before the disk has lost it.
    ///
    /// - Returns: nil if it is something else.
    private func compare(
        _ target: TargetName, _ path: RelativePath, _ publication: Publication, _ comparison: inout ContentComparison
    ) throws(Failure) -> PublicationOutcome? {
        guard try mayCompare(target, path, publication) else { return nil }
        let moment = committer.moment
        if committer.isInDoubt {
            if try restore(target, publication, &comparison) { return .restored(path, publication.staged.version) }
        } else if let file = try target.find(publication, &comparison) {
            return useStored(file, under: path, in: target.directory, for: publication, at: moment)
        }
        return try heal(target, path, publication) ? .healed(path, publication.staged.version) : nil
    }

    private func mayCompare(
        _ target: TargetName, _ path: RelativePath, _ publication: Publication
    ) throws(Failure) -> Bool {
        guard let mayCompare = publication.mayCompare, let file = try target.version() else { return true }
        return mayCompare(path, file)
    }

    /// Publishes where the condition holds: the file that it was compared with is the one that is replaced. Two publications with one
    /// condition race for the lock, and the second is compared again.
    private func place(
        _ publication: Publication, if condition: PublicationCondition, in directory: DirectoryHandle
    ) throws(Failure) -> PublicationOutcome {
        let (target, path) = (TargetName(directory: directory, name: String(publication.path.name)), publication.path)
        var comparison = ContentComparison(publication)
        for _ in 1...Self.mostComparisons {
            let there = try target.status()
            try condition.check(there.map { asBefore($0, publication) })
            guard let there else {
                if let outcome = try take(target, path, publication) { return outcome }
                continue
            }
            guard !there.isDirectory else { throw .isDirectory(path) }
            let (seen, moment) = (ContentVersion(there), committer.moment)
            if !committer.isInDoubt, publication.mayCompare?(path, seen) ?? true,
                let file = try target.find(publication, &comparison), file.version == seen
            {
                return useStored(file, under: path, in: directory, for: publication, at: moment)
            }
            guard publication.conflict == .overwrite else { throw .isTaken(path) }
            // Nothing of a file that may not be replaced is changed: a second name, even for a moment, makes it another version.
            let right = try checkRight(target, publication)
            if try keepMore(target, publication) { continue }
            guard mayReplace == nil || right == seen else { continue }
            if try replace(seen, in: target, with: publication, keeps: true) {
                return .committed(path, publication.staged.version)
            }
        }
        throw Failure(.busy, "\(path) is changed all the time by others: send it again.")
    }

    /// Times that a condition is compared where others change the path between the comparison and the publication.
    private static let mostComparisons = 64

    /// Answers a publication with a stored file that has its content already, and syncs that file: another upload, or another program,
    /// may have written it without a sync so far.
    ///
    /// - Parameter moment: of the committer, before the file was looked at.
    private func useStored(
        _ file: FoundFile, under path: RelativePath, in directory: DirectoryHandle, for publication: Publication,
        at moment: Int
    ) -> PublicationOutcome {
        lastLook = max(lastLook ?? moment, moment)
        if found.count >= Self.mostOpened { closeAll() }
        // One sync is enough for all that have found the same file.
        if !found.contains(where: { $0.version == file.version }) { found.append(file) }
        note(publication, file.version)
        directories.change(directory)
        publication.staged.discard()
        return .alreadyStored(path, file.version)
    }

    /// - Returns: nil when the name is taken.
    private func take(
        _ target: TargetName, _ path: RelativePath, _ publication: Publication
    ) throws(Failure) -> PublicationOutcome? {
        let isTaken = try attempt("publish \(publication.path)") { () throws(SystemError) in
            do throws(SystemError) {
                try publication.staged.giveName(target.name, in: target.directory)
                return false
            } catch {
                guard error.isExisting else { throw error }
                return true
            }
        }
        guard !isTaken else { return nil }
        directories.change(target.directory)
        publication.staged.hold?.publish(publication.size)
        let version = publication.staged.version
        note(publication, version)
        return .committed(path, version)
    }

    /// The command of a publication replaces this file with nothing else.
    private func note(_ publication: Publication, _ file: ContentVersion?) {
        guard publication.command != nil, publication.conflict == .overwrite else { return }
        publication.staged.incoming.commands.withLock { $0.add(file, of: publication.command, at: publication.path) }
    }

    /// Before the upload has its name, however it gets it: from now on nothing that is older comes behind it.
    private func announce(_ publication: Publication) {
        guard publication.conflict == .overwrite, let sender = publication.sender else { return }
        publication.staged.incoming.replacing.withLock { $0.announce(publication.path, sender.connection) }
    }

    private func replace(_ target: TargetName, _ publication: Publication) throws(Failure) {
        for _ in 1...Self.mostComparisons {
            // Before the lock, which everybody waits for who replaces something.
            let seen = try checkRight(target, publication)
            _ = try keepMore(target, publication)
            if try replace(target, publication, seen) { return }
        }
        throw Failure(.busy, "\(publication.path) is changed all the time by others: send it again.")
    }

    /// - Returns: false where another one has taken the path that is not kept so far.
    private func replace(
        _ target: TargetName, _ publication: Publication, _ seen: ContentVersion?
    ) throws(Failure) -> Bool {
        try publication.staged.incoming.replacing.withLock { (overwrites) throws(Failure) in
            try overwrites.check(publication)
            let there = try target.status()
            guard there?.isDirectory != true else { throw .isDirectory(publication.path) }
            try publication.compared?.check(there, publication.path)
            try publication.checkVersion(there)
            if let there {
                try publication.staged.incoming.check(there, publication.command, publication.path, in: tree)
            }
            let now = mayReplace == nil ? nil : try target.version()
            if now == nil || now != seen { try checkRight(target, publication) }
            guard isKept(there, for: publication) else { return false }
            try rename(publication, to: target, keeps: there != nil)
            return true
        }
    }

    /// - Returns: the file that may be replaced; nothing where there is none, or all may be.
    @discardableResult
    private func checkRight(_ target: TargetName, _ publication: Publication) throws(Failure) -> ContentVersion? {
        guard let mayReplace else { return nil }
        let file = try target.version()
        // Links and pipes are the operator's: no upload makes one.
        let isAllowed = if let file { try mayReplace(publication.path, file) } else { try target.isFree() }
        guard isAllowed else {
            throw .mayNotReplace(publication.path)
        }
        return file
    }

    /// Where a sync has failed, the same content under the name is no proof that it is on disk, nor is a sync of it: the
    /// upload takes its place, with bytes and a name that have yet to be written.
    ///
    /// - Returns: false when there is something else.
    private func restore(
        _ target: TargetName, _ publication: Publication, _ comparison: inout ContentComparison
    ) throws(Failure) -> Bool {
        guard let seen = try target.version(), try target.find(publication, &comparison) != nil else { return false }
        return try replace(seen, in: target, with: publication)
    }

    /// What the disk has lost gives its name to what it was, whatever the client wants to be done about names that are
    /// taken: this one is its own. A file that somebody has changed, even since it was looked at, stays.
    ///
    /// - Returns: false when there is something else.
    private func heal(
        _ target: TargetName, _ path: RelativePath, _ publication: Publication
    ) throws(Failure) -> Bool {
        guard let lost = try target.version(), try isLost(lost, target, path, publication) else { return false }
        return try replace(lost, in: target, with: publication)
    }

    /// Whether the disk has lost what a file was acknowledged for, and the publication has it.
    func isLost(
        _ file: ContentVersion, _ target: TargetName, _ path: RelativePath, _ publication: Publication
    ) throws(Failure) -> Bool {
        guard file.size == publication.size, let digest = acknowledged(path, file),
            try publication.staged.has(digest, publication)
        else { return false }
        return try target.differs(from: digest, as: file)
    }

    /// - Parameters:
    ///   - seen: the file that was compared, without the lock that everybody waits for who replaces something.
    ///   - keeps: whether it goes to the trash; not where it has the same content, or has lost its own.
    /// - Returns: false when it is another one by now.
    private func replace(
        _ seen: ContentVersion, in target: TargetName, with publication: Publication, keeps: Bool = false
    ) throws(Failure) -> Bool {
        try publication.staged.incoming.replacing.withLock { (overwrites) throws(Failure) in
            let there = try target.status()
            guard let there, there.isFile, ContentVersion(there) == seen else { return false }
            if keeps { try overwrites.check(publication) }
            guard !keeps || isKept(there, for: publication) else { return false }
            try rename(publication, to: target, keeps: keeps)
            return true
        }
    }

    private func rename(_ publication: Publication, to target: TargetName, keeps: Bool) throws(Failure) {
        let hold = publication.staged.hold
        let kept = keeps ? kept(by: publication) : nil
        if let kept { try replaced.move(kept, from: target.directory, target.name, since: failures) }
        do throws(Failure) {
            try attempt("replace \(publication.path)") { () throws(SystemError) in
                let old = hold == nil ? nil : try target.directory.status(target.name)
                try publication.staged.replace(in: target.directory, name: target.name, id: publication.id)
                hold?.publish(publication.size, replacing: old.map(Self.freed(by:)) ?? 0)
            }
        } catch {
            if let kept { replaced.moveBack(kept, to: target.directory, target.name) }
            throw error
        }
        if let kept { publication.staged.kept = replaced.use(kept, since: failures) }
        directories.change(target.directory)
        note(publication, publication.staged.version)
    }

    /// Bytes that a file gives back when it loses a name. One with another name takes its room as before, and what a link says was
    /// never counted.
    private static func freed(by old: stat) -> UInt64 {
        old.isFile && old.st_nlink < 2 ? UInt64(max(0, old.st_size)) : 0
    }

    private func numbered(_ path: RelativePath, _ number: Int) throws(Failure) -> RelativePath {
        do throws(RelativePath.Fault) {
            return try path.numbered(number)
        } catch {
            throw Failure(.pathConflict, "\(path) is taken, and no numbered name fits: \(error.message)")
        }
    }
}

extension FileStore {
    package func publish(
        _ batch: [Publication], acknowledged: @escaping (RelativePath, ContentVersion) -> Digest? = { _, _ in nil },
        mayReplace: ((RelativePath, ContentVersion) throws(Failure) -> Bool)? = nil
    ) -> PublishedBatch {
        if space != nil, let refused = refusal(batch) { return PublishedBatch(outcomes: refused) }
        let publisher = Publisher(
            tree: tree, umask: umask, rights: rights, incoming: incoming, quota: space?.quota,
            acknowledged: acknowledged, mayReplace: mayReplace)
        let published = publisher.publish(batch)
        for (publication, outcome) in zip(batch, published.outcomes) {
            if outcome.isFinal { publication.staged.discard() } else { publication.staged.discardUnlessResumable() }
        }
        return published
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
}
