internal import CLinux
package import TransferModel
package import TransferPorts
import TransferSystem

/// Publishes a batch of uploads: syncs their content, gives them their names, and syncs the directories of the names,
/// each directory once for the whole batch.
///
/// The order matters: content first, then the name, then the directory. After a crash between any two of these steps a
/// name either does not exist or stands for the whole content.
final class Publisher {
    private let permissionMask: UInt32
    private let rights: OwnerRights
    let committer: Committer
    let tree: DirectoryTree
    private let acknowledged: (RelativePath, ContentVersion) -> Digest?
    let mayReplace: ((RelativePath, ContentVersion) throws(Failure) -> Bool)?
    private let directories: BatchDirectories
    /// Files that had the content of an upload already. They are synced, because the upload is acknowledged for them.
    private var found: [FoundFile] = []
    /// The committer's moment at which the last of them was read.
    private var lastLook: Int?
    /// The error of a sync before the end of the batch; it fails the whole batch.
    private var failure: Failure?
    /// The number of failed syncs when the first upload of the batch was staged.
    var failures = 0
    /// The files that the batch replaces and that go to the trash.
    let replaced: ReplacedFiles
    var keeping: [ObjectIdentifier: Kept] = [:]
    /// Files that already have the path and content of a publication, which was therefore not synced.
    var stored: [ObjectIdentifier: StoredCopy] = [:]
    /// The publications that have no name yet, as long as the publisher has not looked up which files they replace.
    var unlooked: ArraySlice<Publication> = []

    /// The most directories (besides those on one path) and found files that are open at once: a batch may name
    /// thousands, and descriptors are limited.
    private static let mostOpened = 64

    /// - Parameters:
    ///   - umask: permission bits that files lose, unless a publication keeps its permissions exactly.
    ///   - rights: permissions that every file gets.
    ///   - incoming: the directory's unfinished uploads, with its committer and trash.
    ///   - quota: counts what is stored in the directory.
    ///   - acknowledged: returns the digest with which a file was acknowledged; nil if the file has changed since.
    ///   - mayReplace: whether a file may be replaced; nil if all may.
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
            // The sync that failed may be that of a new directory which several uploads share, so it fails the whole
            // batch: it is safe to acknowledge too little. The names stay, because other uploads may have been
            // acknowledged for the same content since.
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
        // The names in the trash must be durable before the replaced files lose theirs: one sync covers both.
        let (files, trash) = (ready.map { batch[$0].staged as any SyncableFile }, replaced.unsynced)
        let errors = committer.commit(files + trash, bytes: bytes, since: failures, making: replaced.made)
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
        let errors = committer.commit(found, since: failures, making: directories.made)
        for case let error? in errors {
            throw Failure(error, doing: "make the content durable")
        }
        // Both are synced, even if the first one fails: otherwise the second one's directories would be in doubt
        // without reason.
        let trash = Result { () throws(Failure) in try replaced.settle(since: failures) }
        try directories.commit(since: failures)
        try trash.get()
        // The kernel reports a lost write once. It may have reported a loss of these files or names to another caller
        // before the syncs above.
        guard let lastLook, committer.isInDoubt(about: lastLook) else { return }
        throw .doubtedContent
    }

    /// Syncs the names so far, so that their descriptors can be closed.
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
        throw Failure(.pathConflict, "\(publication.path) and all its numbered names exist already.")
    }

    /// Ends a publication if the file at the name has its content, or had it before the disk lost it.
    ///
    /// - Returns: nil if the file is a different one.
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

    /// Publishes if the condition holds for the file that is replaced. If two publications with the same condition race
    /// for the lock, the second is compared again.
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
            // Check the right before the file gets a second name in the trash, because even that changes its version.
            let right = try checkRight(target, publication)
            if try keepMore(target, publication) { continue }
            guard mayReplace == nil || right == seen else { continue }
            if try replace(seen, in: target, with: publication, keeps: true) {
                return .committed(path, publication.staged.version)
            }
        }
        throw Failure(.busy, "\(path) is changed again and again by other clients or programs: send it again later.")
    }

    /// How often a condition is compared again because another client has changed the path before the publication.
    private static let mostComparisons = 64

    /// Answers a publication with a stored file that has its content already, and syncs that file: another upload, or another program,
    /// may have written it without a sync so far.
    ///
    /// - Parameter moment: the committer's moment before the file was read.
    private func useStored(
        _ file: FoundFile, under path: RelativePath, in directory: DirectoryHandle, for publication: Publication,
        at moment: Int
    ) -> PublicationOutcome {
        lastLook = max(lastLook ?? moment, moment)
        if found.count >= Self.mostOpened { closeAll() }
        // One sync covers all publications that have found the same file.
        if !found.contains(where: { $0.version == file.version }) { found.append(file) }
        note(publication, file.version)
        directories.change(directory)
        publication.staged.discard()
        return .alreadyStored(path, file.version)
    }

    /// - Returns: nil if the name is taken.
    private func take(
        _ target: TargetName, _ path: RelativePath, _ publication: Publication
    ) throws(Failure) -> PublicationOutcome? {
        let isTaken = try attempt("publish \(publication.path)") { () throws(SystemError) in
            do throws(SystemError) {
                try publication.staged.incoming.freeNames.create { () throws(SystemError) in
                    try publication.staged.giveName(target.name, in: target.directory)
                }
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

    /// Notes the file, so that no other upload of the same command replaces it.
    private func note(_ publication: Publication, _ file: ContentVersion?) {
        guard publication.command != nil, publication.conflict == .overwrite else { return }
        publication.staged.incoming.commands.withLock { $0.add(file, of: publication.command, at: publication.path) }
    }

    /// Called before the upload gets its name. From then on, older connections of this sender cannot replace the file
    /// at this path.
    private func announce(_ publication: Publication) {
        guard publication.conflict == .overwrite, let sender = publication.sender else { return }
        publication.staged.incoming.replacing.withLock { $0.announce(publication.path, sender.connection) }
    }

    private func replace(_ target: TargetName, _ publication: Publication) throws(Failure) {
        for _ in 1...Self.mostComparisons {
            // Check this outside of the lock, for which every replacement waits.
            let seen = try checkRight(target, publication)
            _ = try keepMore(target, publication)
            if try replace(target, publication, seen) { return }
        }
        throw Failure(
            .busy, "\(publication.path) is changed again and again by other clients or programs: send it again later.")
    }

    /// - Returns: false if another file has taken the path, and has no name in the trash yet.
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

    /// - Returns: the file that may be replaced; nil if there is no file, or if all files may be replaced.
    @discardableResult
    private func checkRight(_ target: TargetName, _ publication: Publication) throws(Failure) -> ContentVersion? {
        guard let mayReplace else { return nil }
        let file = try target.version()
        // Links and pipes belong to the operator, because no upload creates them.
        let isAllowed = if let file { try mayReplace(publication.path, file) } else { try target.isFree() }
        guard isAllowed else {
            throw .mayNotReplace(publication.path)
        }
        return file
    }

    /// After a failed sync, equal content in memory does not prove that it is on disk, and neither does another sync.
    /// So the upload replaces the file, with bytes and a name that have yet to be written.
    ///
    /// - Returns: false if the file has other content.
    private func restore(
        _ target: TargetName, _ publication: Publication, _ comparison: inout ContentComparison
    ) throws(Failure) -> Bool {
        guard let seen = try target.version(), try target.find(publication, &comparison) != nil else { return false }
        return try replace(seen, in: target, with: publication)
    }

    /// Replaces a file whose content the disk has lost with an upload of that content, whatever the conflict policy is,
    /// because no other content is replaced. A file that was changed since it was acknowledged, or since it was read,
    /// stays.
    ///
    /// - Returns: false if the file has other content.
    private func heal(
        _ target: TargetName, _ path: RelativePath, _ publication: Publication
    ) throws(Failure) -> Bool {
        guard let lost = try target.version(), try isLost(lost, target, path, publication) else { return false }
        return try replace(lost, in: target, with: publication)
    }

    /// Whether the disk has lost the acknowledged content of a file, and the publication has that content.
    func isLost(
        _ file: ContentVersion, _ target: TargetName, _ path: RelativePath, _ publication: Publication
    ) throws(Failure) -> Bool {
        guard file.size == publication.size, let digest = acknowledged(path, file),
            try publication.staged.has(digest, publication)
        else { return false }
        return try target.differs(from: digest, as: file)
    }

    /// - Parameters:
    ///   - seen: the file that was compared, outside of the lock for which every replacement waits.
    ///   - keeps: whether the file goes to the trash; false if it has the same content, or has lost its own.
    /// - Returns: false if the name has another file by now.
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

    /// Bytes that are freed when a file loses a name: none if it has another name, and none for links, which do not
    /// count.
    private static func freed(by old: stat) -> UInt64 {
        old.isFile && old.st_nlink < 2 ? UInt64(max(0, old.st_size)) : 0
    }

    private func numbered(_ path: RelativePath, _ number: Int) throws(Failure) -> RelativePath {
        do throws(RelativePath.Fault) {
            return try path.numbered(number)
        } catch {
            throw Failure(.pathConflict, "\(path) exists already, and no numbered name is possible: \(error.message)")
        }
    }
}

extension FileStore {
    package func publish(
        _ batch: [Publication], acknowledged: @escaping (RelativePath, ContentVersion) -> Digest? = { _, _ in nil },
        mayReplace: ((RelativePath, ContentVersion) throws(Failure) -> Bool)? = nil
    ) -> PublishedBatch {
        if space != nil, let refused = refusal(batch) { return PublishedBatch(outcomes: refused) }
        note(publishing: batch)
        let publisher = Publisher(
            tree: tree, umask: umask, rights: rights, incoming: incoming, quota: space?.quota,
            acknowledged: acknowledged, mayReplace: mayReplace)
        let published = publisher.publish(batch)
        for (publication, outcome) in zip(batch, published.outcomes) {
            if outcome.isFinal { publication.staged.discard() } else { publication.staged.discardUnlessResumable() }
        }
        return published
    }

    /// Small uploads do not check the free space one by one, so it is checked once for the batch.
    ///
    /// - Returns: nil if the batch can be published.
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
