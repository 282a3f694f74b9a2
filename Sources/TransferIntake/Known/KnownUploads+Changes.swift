import TransferModel
package import TransferPorts
import TransferSystem

/// What becomes of uploads whose files this server moves, links, replaces, or gives other attributes.
///
/// Each change is noted in the catalog (`intend`), made and synced by a `ChangeBatch`, and then told to the catalog (`complete`), which
/// takes the note away. A change whose sync has failed keeps its note and is resolved later (`UnresolvedChanges`).
extension KnownUploads {
    /// Changes that were made and that the catalog could not be told of.
    struct Untold {
        typealias Change = (noted: NotedChanges, changes: KnownChanges)

        var changes: [Change] = []
        /// Whether a thread is telling the catalog of the first of them.
        var isTold = false

        /// Versions of files in changes without a note that are kept. Each costs a look with every entry that is read.
        static let most = 1024

        /// Where there are too many, the catalog is never told: the files are known no more, and come anew. What was noted stays, because
        /// its note would be applied behind later changes of the same paths; a catalog that fails takes no more notes.
        mutating func add(_ change: Change) {
            let versions = changes.reduce(change.changes.versions.count) { $0 + $1.changes.versions.count }
            if change.noted.numbers != nil || changes.count < Self.most && versions <= Self.most {
                changes.append(change)
            }
        }

        /// An entry of the catalog, as it will be once these are told.
        func amended(_ entry: CatalogEntry) -> CatalogEntry {
            changes.reduce(entry) { entry, change in entry.restamped(by: change.changes) ?? entry }
        }

        /// A file as it is and as it was before each of these changes of its attributes.
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

    /// Notes what is about to be changed, before it is: whatever ends this server meanwhile, the next one finds out what came of it.
    ///
    /// - Parameter store: the same that uploads go to.
    /// - Throws: where it cannot be noted. Nothing may be changed then.
    func intend(_ changes: [IntendedChange], in store: any TreeChanging) throws(Failure) -> NotedChanges {
        guard !changes.isEmpty else { return .none }
        do throws(RecordsError) {
            // The notes of an earlier server are read before there are any of this one. These changes were not compared with them.
            if try loadIntended(in: store) > 0, unresolved.withLock({ !$0.changes.isEmpty }) {
                throw RecordsError(.busy, "It has just told of changes that are to be resolved first.")
            }
            if let error = tellUntold() { throw error }
            return try records.intend(changes)
        } catch {
            complain(error, unrecorded: 0)
            throw Failure(notNoted: error)
        }
    }

    /// What is to be known of a file that had a second name for a while.
    func touched(_ file: TouchedFile) -> KnownChanges {
        let (before, after) = (file.versions.before, file.versions.after)
        let change = IntendedChange(.attributes, file.path.string, before: before, at: now)
        recentChanges.add(change)
        return change.outcome(FoundObject(.file, after), nil)
    }

    /// Lets files be known that were about to be replaced and have their paths still. Until they are, the store says of their versions
    /// from before that they are about to give way.
    func restamp(_ batch: PublishedBatch) {
        guard !batch.touched.isEmpty else { return }
        var changes = KnownChanges()
        for file in batch.touched { changes.add(touched(file)) }
        withExtendedLifetime(batch.keeping) { complete(.none, changes) }
    }

    /// Tells the catalog what files are now. What cannot be recorded is tried again later. The caller keeps others from changing these
    /// paths until this returns; other uploads and changes do not wait for it.
    func complete(_ noted: NotedChanges, _ changes: KnownChanges) {
        recent.forget(changes.paths)
        // What came before has to be told first: a change names the version that the one before it has made.
        if let error = tellUntold() {
            untold.withLock { $0.add((noted, changes)) }
            // The thread that tells of the others may have come to their end by now.
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

    /// - Returns: why there is something that the catalog could not be told.
    func tellUntold() -> RecordsError? {
        while true {
            let (next, isBusy) = untold.withLock { untold in
                let isBusy = untold.isTold
                guard !isBusy, let first = untold.changes.first else { return (nil as Untold.Change?, isBusy) }
                untold.isTold = true
                return (first, false)
            }
            guard let next else {
                return isBusy ? RecordsError(.busy, "It is just told of earlier changes.") : nil
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
    /// The same of a file that has kept its path and has other attributes; nil where none of the changes is that.
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
            code, "Nothing was changed, because the server cannot note what it is about to change. \(error.message)")
    }
}

/// Noted changes of which it is not certain what the disk has kept: an earlier server did not finish them, or their sync has failed.
///
/// A note says what stood at a path when it was made. Once another change has put something else there, the note would be applied to
/// the wrong file. So the server resolves the changes before it notes anything else. It makes their names durable, tells the catalog what
/// stands at their paths, and removes the notes. Where that fails, other changes of these paths are refused until it succeeds; uploads are not,
/// because the catalog tells what arrived behind a note from what was there before.
struct UnresolvedChanges: Sendable {
    /// Whether the notes of an earlier server have been read.
    var isLoaded = false

    var changes: [NotedChange] = [] {
        didSet { paths = Self.paths(of: changes) }
    }

    /// Numbers of the notes whose outcome the catalog was told of although they stay.
    var told: Set<Int64> = []

    /// Whether a thread is resolving them. It holds no lock meanwhile: it waits for a disk that has failed.
    var isResolving = false

    /// When to try again, in nanoseconds of the monotonic clock, and how long to wait behind the next try.
    var nextTry = Int64.min
    var pause = leastPause

    private(set) var paths = TouchedPaths()

    /// Nanoseconds between two tries, at least and at most: each costs syncs, and what is in doubt stays so for long.
    private static let leastPause: Int64 = 1_000_000_000
    private static let mostPause: Int64 = 60_000_000_000

    private static func paths(of changes: [NotedChange]) -> TouchedPaths {
        var paths = TouchedPaths()
        for change in changes { for path in change.paths { paths.insert(path) } }
        return paths
    }

    /// What a try has come to: numbers of the notes that are no more, and of those whose outcome was told.
    struct Outcome {
        var resolved: Set<Int64> = []
        var told: Set<Int64> = []
    }

    /// A try is over.
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
    /// The paths that it is about; none for a note that cannot be read.
    fileprivate var paths: [RelativePath] {
        change.map { [$0.path, $0.target].compactMap(RelativePath.init(stored:)) } ?? []
    }

    fileprivate var number: Int64? { notes.numbers?.lowerBound }
}

extension KnownUploads {
    /// Keeps the notes of changes whose sync has failed, and resolves them at once where the disk lets us.
    func keep(unresolved changes: [NotedChange], in store: any TreeChanging) {
        guard !changes.isEmpty else { return }
        unresolved.withLock { unresolved in
            unresolved.changes += changes
            unresolved.nextTry = .min
        }
        resolveChanges(in: store)
    }

    /// Whether paths have to do with a change that is not resolved.
    ///
    /// - Parameter movesFolders: whether what lies in them gets other paths as well.
    func isUnresolved(_ paths: [RelativePath], movesFolders: Bool) -> Bool {
        unresolved.withLock { unresolved in
            guard !unresolved.changes.isEmpty else { return false }
            let touched = unresolved.paths
            return paths.contains { movesFolders ? touched.meet($0) : touched.hold($0) }
        }
    }

    /// Reads what an earlier server had noted, once, and resolves it.
    ///
    /// - Returns: how many changes that server did not finish; 0 where they were read before.
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

    /// Resolves what is unresolved, unless another thread does, or that was tried a moment ago.
    ///
    /// The names are made durable first: a process that was killed may not have done that, and a power cut would bring back what was
    /// before. Where they cannot be, the catalog is told once what stands there now, and the note stays.
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
        // What the catalog could not be told of came before these.
        guard tellUntold() == nil else { return result }
        // A folder in doubt stays so, whatever is synced.
        let doubted = Set(changes.filter { store.isDoubted($0.paths) }.compactMap(\.number))
        let others = changes.filter { change in !(change.number.map(doubted.contains) ?? false) }
        // One pass for all: where it fails, the next sync of the same names would say nothing.
        let areDurable = others.isEmpty || store.confirmNames(of: others.flatMap(\.paths))
        for noted in changes {
            guard let number = noted.number else { continue }
            // A note that cannot be read never will be.
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
    /// Lets the catalog know what came of changes that an earlier server did not finish. To be called before the first upload and the
    /// first change; where the catalog cannot be read or written then, it is done before the first change.
    ///
    /// - Parameter store: the same that uploads go to.
    /// - Returns: how many there were.
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
    /// Refuses a change of a path of which another change is not resolved.
    static func isUnresolved(_ path: RelativePath) -> Failure {
        Failure(
            .storageFailed,
            "An earlier change of \(path) could not be made durable, so it cannot be changed again yet. Try again in a minute. If that "
                + "fails, check the server's disk: a folder that it has left in doubt stays so until it is removed or the machine is "
                + "started again.")
    }
}
