import TransferCatalog
import TransferDatabase
import TransferModel
package import TransferStore
import TransferSystem

/// Noted changes of which it is not certain what the disk has kept: an earlier server did not finish them, or their sync has failed.
///
/// A note says what stood at a path when it was made. Once another change has put something else there, the note would be applied to
/// the wrong file. So the changes are settled before anything else is noted: their names are made durable, the catalog is told what
/// stands there, and the notes go. Where that fails, other changes of these paths are refused until it succeeds; uploads are not,
/// because the catalog tells what arrived behind a note from what was there before.
struct UnsettledChanges: Sendable {
    /// Whether the notes of an earlier server have been read.
    var isLoaded = false

    var changes: [NotedChange] = [] {
        didSet { paths = Self.paths(of: changes) }
    }

    /// When to try again, in nanoseconds of the monotonic clock: each try costs syncs on a disk that has failed.
    var nextTry = Int64.min

    private(set) var paths = TouchedPaths()

    private static func paths(of changes: [NotedChange]) -> TouchedPaths {
        var paths = TouchedPaths()
        for change in changes { for path in change.paths { paths.insert(path) } }
        return paths
    }
}

extension NotedChange {
    /// The paths that it is about; none for a note that cannot be read.
    fileprivate var paths: [RelativePath] {
        change.map { [$0.path, $0.target].compactMap(RelativePath.init(stored:)) } ?? []
    }
}

extension KnownUploads {
    /// Keeps the notes of changes whose sync has failed, and settles them at once where the disk lets us.
    func keep(unsettled changes: [NotedChange], in store: FileStore) {
        guard !changes.isEmpty else { return }
        unsettled.withLock { unsettled in
            unsettled.changes += changes
            settle(&unsettled, in: store)
        }
    }

    /// Settles what is unsettled, unless that was tried a moment ago.
    func settleChanges(in store: FileStore) {
        unsettled.withLock { unsettled in
            guard !unsettled.changes.isEmpty, clock.monotonic() >= unsettled.nextTry else { return }
            settle(&unsettled, in: store)
        }
    }

    /// Whether a path has to do with a change that is not settled.
    func isUnsettled(_ paths: [RelativePath]) -> Bool {
        unsettled.withLock { unsettled in !unsettled.changes.isEmpty && paths.contains(where: unsettled.paths.meet) }
    }

    /// Reads what an earlier server had noted, once, and settles it.
    ///
    /// - Returns: how many changes that server did not finish; 0 where they were read before.
    @discardableResult
    func loadUnsettled(in store: FileStore) throws(DatabaseError) -> Int {
        try unsettled.withLock { (unsettled) throws(DatabaseError) in
            guard !unsettled.isLoaded else { return 0 }
            let intended = try records.intended()
            unsettled.isLoaded = true
            guard !intended.isEmpty else { return 0 }
            unsettled.changes += intended
            settle(&unsettled, in: store)
            return intended.count { $0.change != nil }
        }
    }

    /// Makes the names of these changes durable first: a process that was killed may not have done that, and a power cut would bring
    /// back what was before. Where that fails the catalog is told what stands there now, and the note stays.
    private func settle(_ unsettled: inout UnsettledChanges, in store: FileStore) {
        unsettled.nextTry = clock.monotonic().addingReportingOverflow(Self.settleInterval).partialValue
        let areDurable = store.confirmNames(of: unsettled.changes.flatMap(\.paths))
        unsettled.changes = unsettled.changes.filter { noted in
            let isDurable = areDurable || store.confirmNames(of: noted.paths)
            // A note that cannot be read never will be.
            let isOver = isDurable || noted.change == nil
            do throws(DatabaseError) {
                let look = { (path: RelativePath) throws(StoreError) in try store.object(at: path) }
                guard let outcome = try records.outcome(of: noted, look) else { return true }
                complete(isOver ? noted.notes : noted.notes.keepingAll, outcome)
                return !isOver
            } catch {
                complain(error, unrecorded: 0)
                return true
            }
        }
    }
}

extension Intake {
    /// Lets the catalog know what came of changes that an earlier server did not finish. To be called before the first upload and the
    /// first change; where the catalog cannot be read or written then, it is done before the first change.
    ///
    /// - Parameter store: the same that uploads go to.
    /// - Returns: how many there were.
    package func settleIntended(in store: FileStore) -> Int {
        do throws(DatabaseError) {
            return try known.loadUnsettled(in: store)
        } catch {
            known.complain(error, unrecorded: 0)
            return 0
        }
    }
}

extension StoreError {
    /// Refuses a change of a path of which another change is not settled.
    static func isUnsettled(_ path: RelativePath) -> StoreError {
        StoreError(
            .storageFailed,
            "An earlier change of \(path) could not be made durable, so it cannot be changed again yet. Check the server's disk, "
                + "then try again; if that fails, restart the server.")
    }
}
