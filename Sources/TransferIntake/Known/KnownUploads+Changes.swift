import TransferModel
package import TransferPorts
import TransferSystem

/// Updates the catalog when this server moves, links or replaces the files of uploads, or changes their attributes.
///
/// Each change is noted in the catalog (`intend`), made and synced by a `ChangeBatch`, and then recorded (`complete`),
/// which removes the note. A change whose sync has failed keeps its note and is resolved later (`UnresolvedChanges`).
extension KnownUploads {
    /// Changes that were made and that the catalog could not record.
    struct Untold {
        typealias Change = (noted: NotedChanges, changes: KnownChanges)

        var changes: [Change] = []
        /// Whether a thread is recording the first of them.
        var isTold = false

        /// The most versions of files in changes without a note. Each costs a comparison with every entry that is read.
        static let most = 1024

        /// Above that number, changes without a note are dropped: the catalog then does not know the files, and clients
        /// send them again. Changes with a note are always kept, because the notes would otherwise be applied after
        /// later changes of the same paths. They stay few, because a catalog that fails takes no more notes.
        mutating func add(_ change: Change) {
            let versions = changes.reduce(change.changes.versions.count) { $0 + $1.changes.versions.count }
            if change.noted.numbers != nil || changes.count < Self.most && versions <= Self.most {
                changes.append(change)
            }
        }

        /// The entry as it will be when these changes are recorded.
        func amended(_ entry: CatalogEntry) -> CatalogEntry {
            changes.reduce(entry) { entry, change in entry.restamped(by: change.changes) ?? entry }
        }

        /// The versions of a file: the current one, and those before each of these changes of the file's attributes.
        func versions(of file: ContentVersion) -> [ContentVersion] {
            var versions = [file]
            for change in changes.reversed().flatMap({ $0.changes.versions.reversed() })
            where change.after.hasSameContent(as: versions[versions.count - 1])
                && !change.before.hasSameContent(as: change.after)
            {
                versions.append(change.before)
            }
            return versions
        }
    }

    /// Notes changes before they are made, so that the next server can find out which of them were made if this one
    /// dies.
    ///
    /// - Parameter store: the store that uploads go to.
    /// - Throws: if the changes cannot be noted. Then nothing may be changed.
    func intend(_ changes: [IntendedChange], in store: any TreeChanging) throws(Failure) -> NotedChanges {
        guard !changes.isEmpty else { return .none }
        do throws(RecordsError) {
            // The notes of an earlier server have to be loaded before this one adds any. If some were loaded just now,
            // these changes were not compared with them.
            if try loadIntended(in: store) > 0, unresolved.withLock({ !$0.changes.isEmpty }) {
                throw RecordsError(
                    .busy,
                    "The catalog still has unfinished changes of an earlier server, which must be resolved first.")
            }
            if let error = tellUntold() { throw error }
            return try records.intend(changes)
        } catch {
            complain(error, unrecorded: 0)
            throw Failure(notNoted: error)
        }
    }

    /// What the catalog has to record of a file that had a second name for a while.
    func touched(_ file: TouchedFile) -> KnownChanges {
        let (before, after) = (file.versions.before, file.versions.after)
        let change = IntendedChange(.attributes, file.path.string, before: before, at: now)
        recentChanges.add(change)
        return change.outcome(FoundObject(.file, after), nil)
    }

    /// Records the new versions of files that were about to be replaced and still have their paths. Until they are
    /// recorded, the store still accepts the old versions (`ContentStore.isAboutToGiveWay`).
    func restamp(_ batch: PublishedBatch) {
        guard !batch.touched.isEmpty else { return }
        var changes = KnownChanges()
        for file in batch.touched { changes.add(touched(file)) }
        withExtendedLifetime(batch.keeping) { complete(.none, changes) }
    }

    /// Records what became of files. What cannot be recorded is tried again later. The caller keeps these paths from
    /// being changed until this returns; other uploads and changes do not wait for it.
    func complete(_ noted: NotedChanges, _ changes: KnownChanges) {
        recent.forget(changes.paths)
        // Earlier changes have to be recorded first, because each change names the version that the one before it has
        // made.
        if let error = tellUntold() {
            untold.withLock { $0.add((noted, changes)) }
            // The thread that records the earlier changes may have finished by now.
            if error.reason == .busy { _ = tellUntold() }
            return
        }
        do throws(RecordsError) {
            try records.complete(noted, changes)
        } catch {
            complain(error, unrecorded: 0)
            untold.withLock { $0.add((noted, changes)) }
        }
    }

    /// - Returns: why some changes could not be recorded; nil if all are.
    func tellUntold() -> RecordsError? {
        while true {
            let (next, isBusy) = untold.withLock { untold in
                let isBusy = untold.isTold
                guard !isBusy, let first = untold.changes.first else { return (nil as Untold.Change?, isBusy) }
                untold.isTold = true
                return (first, false)
            }
            guard let next else {
                return isBusy ? RecordsError(.busy, "The catalog is still recording earlier changes.") : nil
            }
            do throws(RecordsError) {
                try records.complete(next.noted, next.changes)
                untold.withLock { untold in
                    untold.changes.removeFirst()
                    untold.isTold = false
                }
            } catch {
                untold.withLock { $0.isTold = false }
                complain(error, unrecorded: 0)
                return error
            }
        }
    }
}

extension CatalogEntry {
    /// The entry with the new version, if the file has kept its path and only its attributes were changed; otherwise
    /// nil.
    func restamped(by changes: KnownChanges) -> CatalogEntry? {
        let moved = changes.kept + changes.moves
        guard let change = changes.versions.last(where: { $0.path == path && $0.before == version }),
            !moved.contains(where: { $0.path == path || $0.target == path })
        else { return nil }
        var entry = self
        entry.version = change.after
        return entry
    }
}

extension Failure {
    fileprivate init(notNoted error: RecordsError) {
        let code: ResultCode =
            switch error.reason {
            case .full: .insufficientStorage
            case .busy: .busy
            case .damaged, .unknownVersion, .failed, .unavailable: .storageFailed
            }
        self.init(
            code, "Nothing was changed, because the server cannot record the change beforehand. \(error.message)")
    }
}

/// Noted changes of which it is not certain that they are on the disk: an earlier server did not finish them, or their
/// sync has failed.
///
/// A note says what was at a path when the note was made. If another change put something else there, the note would be
/// applied to the wrong file. So the server resolves these changes before it notes others: it makes their names
/// durable, records what is at their paths, and removes the notes. Until that succeeds, other changes of these paths
/// are refused. Uploads are not, because the catalog distinguishes what arrived after a note from what was there
/// before.
struct UnresolvedChanges: Sendable {
    /// Whether the notes of an earlier server have been read.
    var isLoaded = false

    var changes: [NotedChange] = [] {
        didSet { paths = Self.paths(of: changes) }
    }

    /// Numbers of the notes that stay although their outcome is recorded.
    var told: Set<Int64> = []

    /// Whether a thread is resolving them. It holds no lock meanwhile, because it may wait for a disk that has failed.
    var isResolving = false

    /// When to try again, in nanoseconds of the monotonic clock, and the pause after the next try.
    var nextTry = Int64.min
    var pause = leastPause

    private(set) var paths = TouchedPaths()

    /// The shortest and the longest pause between two tries, in nanoseconds. Each try costs syncs, and a disk that has
    /// failed stays so for long.
    private static let leastPause: Int64 = 1_000_000_000
    private static let mostPause: Int64 = 60_000_000_000

    private static func paths(of changes: [NotedChange]) -> TouchedPaths {
        var paths = TouchedPaths()
        for change in changes { for path in change.paths { paths.insert(path) } }
        return paths
    }

    /// The result of a try: the numbers of the notes that are removed, and of those whose outcome is recorded.
    struct Outcome {
        var resolved: Set<Int64> = []
        var told: Set<Int64> = []
    }

    /// Notes the result of a try.
    mutating func end(_ outcome: Outcome, now: Int64) {
        let resolved = outcome.resolved
        changes.removeAll { change in change.number.map(resolved.contains) ?? true }
        told.formUnion(outcome.told)
        told.subtract(resolved)
        isResolving = false
        nextTry = now.addingReportingOverflow(pause).partialValue
        pause = resolved.isEmpty ? min(2 * pause, Self.mostPause) : Self.leastPause
    }
}

extension NotedChange {
    /// The paths of the change; empty for a note that cannot be read.
    fileprivate var paths: [RelativePath] {
        change.map { [$0.path, $0.target].compactMap(RelativePath.init(stored:)) } ?? []
    }

    fileprivate var number: Int64? { notes.numbers?.lowerBound }
}

extension KnownUploads {
    /// Keeps the notes of changes whose sync has failed, and tries to resolve them at once.
    func keep(unresolved changes: [NotedChange], in store: any TreeChanging) {
        guard !changes.isEmpty else { return }
        unresolved.withLock { unresolved in
            unresolved.changes += changes
            unresolved.nextTry = .min
        }
        resolveChanges(in: store)
    }

    /// Whether any of these paths belongs to an unresolved change.
    ///
    /// - Parameter movesFolders: whether everything in folders at these paths gets other paths as well.
    func isUnresolved(_ paths: [RelativePath], movesFolders: Bool) -> Bool {
        unresolved.withLock { unresolved in
            guard !unresolved.changes.isEmpty else { return false }
            let touched = unresolved.paths
            return paths.contains { movesFolders ? touched.meet($0) : touched.hold($0) }
        }
    }

    /// Reads the notes of an earlier server, once, and resolves them.
    ///
    /// - Returns: how many changes that server did not finish; 0 if the notes were read before.
    @discardableResult
    func loadIntended(in store: any TreeChanging) throws(RecordsError) -> Int {
        let count = try unresolved.withLock { (unresolved) throws(RecordsError) in
            guard !unresolved.isLoaded else { return 0 }
            let intended = try records.intended()
            unresolved.isLoaded = true
            unresolved.changes += intended
            return intended.count { $0.change != nil }
        }
        resolveChanges(in: store)
        return count
    }

    /// Resolves the unresolved changes, unless another thread does so, or a try was made a moment ago.
    ///
    /// The names are made durable first: an earlier server may have been killed before it did that, and a power cut
    /// would bring back the old names. If they cannot be made durable, what is there now is recorded once, and the note
    /// stays.
    func resolveChanges(in store: any TreeChanging) {
        let found = unresolved.withLock { unresolved -> (changes: [NotedChange], told: Set<Int64>)? in
            guard !unresolved.isResolving, !unresolved.changes.isEmpty, clock.monotonic() >= unresolved.nextTry else {
                return nil
            }
            unresolved.isResolving = true
            return (unresolved.changes, unresolved.told)
        }
        guard let found else { return }
        let outcome = resolve(found.changes, told: found.told, in: store)
        unresolved.withLock { $0.end(outcome, now: clock.monotonic()) }
    }

    private func resolve(
        _ changes: [NotedChange], told: Set<Int64>, in store: any TreeChanging
    ) -> UnresolvedChanges.Outcome {
        var result = UnresolvedChanges.Outcome()
        // Changes in `untold` were made before these, so they have to be recorded first.
        guard tellUntold() == nil else { return result }
        // A folder in doubt stays in doubt, whatever is synced.
        let doubted = Set(changes.filter { store.isDoubted($0.paths) }.compactMap(\.number))
        let others = changes.filter { change in !(change.number.map(doubted.contains) ?? false) }
        // All names are made durable in one pass: if it fails, a later sync of the same names would not report the
        // failure again.
        let areDurable = others.isEmpty || store.confirmNames(of: others.flatMap(\.paths))
        for noted in changes {
            guard let number = noted.number else { continue }
            // A note that cannot be read now can never be read, so it counts as resolved.
            let isOver = noted.change == nil || areDurable && !doubted.contains(number)
            guard isOver || !told.contains(number) else { continue }
            do throws(RecordsError) {
                let look = { (path: RelativePath) throws(Failure) in try store.object(at: path) }
                guard let outcome = try records.outcome(of: noted, look) else { continue }
                complete(isOver ? noted.notes : noted.notes.keepingAll, outcome)
                if isOver { result.resolved.insert(number) } else { result.told.insert(number) }
            } catch {
                complain(error, unrecorded: 0)
            }
        }
        return result
    }
}

extension KnownUploads {
    /// Records what became of changes that an earlier server did not finish. Call it before the first upload and the
    /// first change. If the catalog cannot be read or written then, this is done before the first change.
    ///
    /// - Parameter store: the store that uploads go to.
    /// - Returns: the number of these changes.
    package func resolveIntended(in store: any TreeChanging) -> Int {
        do throws(RecordsError) {
            return try loadIntended(in: store)
        } catch {
            complain(error, unrecorded: 0)
            return 0
        }
    }
}

extension Failure {
    /// Refuses a change of a path for which an earlier change is unresolved.
    static func isUnresolved(_ path: RelativePath) -> Failure {
        Failure(
            .storageFailed,
            "An earlier change of \(path) could not be made durable, so it cannot be changed again "
                + "yet. Try again in a minute. If that fails, check the server's disk. A folder that could "
                + "not be made durable cannot be changed until it is removed or the machine is restarted.")
    }
}
