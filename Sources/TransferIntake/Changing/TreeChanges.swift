import Synchronization
package import TransferAccess
package import TransferModel
package import TransferPorts
import TransferSystem

/// Makes and changes names, folders and attributes for one connection, and records that in the catalog. Used by one
/// thread at a time.
///
/// **The order is note, change, sync, catalog.** Changes that come together are noted together, at the cost of one more
/// sync for all of them. If a server ends between two of these steps, the note stays, and the next server finds out
/// what became of the change.
package final class TreeChanges {
    private let intake: Intake
    private let store: any TreeChanging
    /// The trash batch that receives what this connection discards.
    private let trash: OpenTrashBatch
    /// Whether replaced files go to the trash as well.
    private let keepsReplaced: Bool
    /// The client's command that the changes belong to, if the client has named it.
    package var command: StoringCommand?

    /// The client's rights, if clients have limits.
    package var grant: Grant?

    /// The most changes that are noted together.
    private static let mostAtOnce = 128

    /// - Parameters:
    ///   - trash: the trash batch for this connection.
    ///   - keepsReplaced: whether replaced files go to the trash as discarded ones do.
    package init(_ intake: Intake, _ store: any TreeChanging, trash: OpenTrashBatch, keepsReplaced: Bool) {
        (self.intake, self.store, self.trash, self.keepsReplaced) = (intake, store, trash, keepsReplaced)
    }

    /// - Parameter makeBatch: makes a new trash batch; `moment` is UTC, in nanoseconds since 1970.
    package convenience init(
        _ intake: Intake, _ store: any TreeChanging, keepsReplaced: Bool = false,
        makeBatch: @escaping (_ moment: Int64) -> TrashBatch = { .begun(at: $0) }
    ) {
        let trash = OpenTrashBatch(utc: intake.clock.utc, makeBatch: makeBatch)
        self.init(intake, store, trash: trash, keepsReplaced: keepsReplaced)
    }

    /// Makes changes one after the other. When this returns, those that succeeded are as durable as the store is, and
    /// recorded.
    ///
    /// - Returns: one result for each change, in their order.
    package func perform(_ changes: [TreeChange]) -> [Result<TreeChange.Done, Failure>] {
        var results: [Result<TreeChange.Done, Failure>] = []
        var rest = changes[...]
        while !rest.isEmpty {
            let batch = trash.current
            var done = performSome(rest, in: batch)
            for (index, change) in zip(done.indices, rest) where isInTrash(change, batch, done[index]) {
                let other = trash.renew(behind: batch)
                done[index] = performSome([change], in: other).first ?? done[index]
            }
            results += done
            rest = rest.dropFirst(done.count)
        }
        return results
    }

    /// Whether the change failed because this trash batch already has something under the same path.
    private func isInTrash(_ change: TreeChange, _ batch: TrashBatch, _ result: Result<TreeChange.Done, Failure>)
        -> Bool
    {
        guard case .failure(let error) = result, error.code == .pathConflict else { return false }
        if case .discard = change { return true }
        return keepsReplaced && (change.replaced.map { intake.store.exists(.trash(batch, $0)) } ?? false)
    }

    /// Makes the first changes, up to the first one that depends on an earlier one, but at least one change.
    ///
    /// - Parameter batch: the trash batch for discarded and replaced files.
    private func performSome(
        _ changes: ArraySlice<TreeChange>, in batch: TrashBatch
    ) -> [Result<TreeChange.Done, Failure>] {
        let keeping = keepsReplaced ? batch : nil
        intake.known.resolveChanges(in: store)
        let turn = intake.changing.begin()
        defer { intake.changing.end(turn) }
        var results: [Result<TreeChange.Done, Failure>] = []
        var planned: [ChangePlan] = []
        var shares: [Int: MadeShare] = [:]
        var touched = TouchedPaths()
        for change in changes.prefix(Self.mostAtOnce) {
            let trashed = change.place(in: batch)
            let (looked, changed) = (change.looked, change.touched(trashed, keepingIn: keeping))
            if looked.contains(where: touched.meet) || changed.contains(where: touched.contains) { break }
            for path in changed { touched.insert(path) }
            results.append(
                Result { () throws(Failure) in
                    guard intake.changing.take(looked + changed, for: turn) else { throw .isChanging(change.path) }
                    // Checked after the paths are taken, because other threads release their paths after they have
                    // noted an unresolved change.
                    guard !intake.known.isUnresolved(looked + changed, movesFolders: change.movesFolders) else {
                        throw .isUnresolved(change.path)
                    }
                    if let path = change.restamped { try intake.prepareChange(of: path) }
                    if change.makesMore { try intake.store.checkRoom() }
                    shares[results.count] = try grant.flatMap { (grant) throws(Failure) in
                        try intake.quotas.share(for: change, of: grant)
                    }
                    let moment = intake.clock.utc()
                    planned.append(
                        try ChangePlan(
                            results.count, change, trashed: trashed, keepingIn: keeping, at: moment, in: store))
                    return TreeChange.Done()
                })
        }
        let (failures, kept) = ChangeBatch(intake.known, store, for: command).make(planned)
        for (index, batch) in kept { results[index] = .success(TreeChange.Done(trash: batch)) }
        for (index, error) in failures { results[index] = .failure(error) }
        for (index, change) in zip(results.indices, changes) {
            guard case .success = results[index] else { continue }
            if change.place(in: batch) != nil { results[index] = .success(TreeChange.Done(trash: batch)) }
            if let replaced = change.replaced, let keeping {
                intake.quotas.moved(replaced, to: .trash(keeping, replaced))
            }
            if let (path, target) = change.moved(to: change.place(in: batch)) { intake.quotas.moved(path, to: target) }
            shares[index]?.keep()
        }
        return results
    }
}

extension TreeChange {
    /// The path in the trash for something that is discarded; nil for other changes.
    fileprivate func place(in batch: TrashBatch) -> RelativePath? {
        if case .discard(let path, _, _) = self { .trash(batch, path) } else { nil }
    }

    /// Whether the change needs room permanently. Moving and discarding are always allowed, because they may be a way
    /// to make room.
    fileprivate var makesMore: Bool {
        switch self {
        case .folder, .link, .hardLink, .set: true
        case .move, .discard: false
        }
    }

    /// The path from which the change moves something, and the path to which it moves it; nil if it moves nothing.
    ///
    /// - Parameter trashed: the path in the trash for something that is discarded.
    fileprivate func moved(to trashed: RelativePath?) -> (RelativePath, RelativePath)? {
        switch self {
        case .move(let path, let target, _, _): (path, target)
        case .discard(let path, _, _): trashed.map { (path, $0) }
        case .folder, .link, .hardLink, .set: nil
        }
    }

    /// The path of the file whose time of modification the change can set; nil if it sets none.
    fileprivate var restamped: RelativePath? {
        switch self {
        case .set(let path, let attributes, _): attributes.modified == nil ? nil : path
        case .hardLink(_, let source, _, _, _): source
        case .folder, .link, .move, .discard: nil
        }
    }

    /// Whether the change can give a folder another path, together with everything in it.
    fileprivate var movesFolders: Bool {
        switch self {
        case .move, .discard: true
        case .folder, .link, .hardLink, .set: false
        }
    }
}

extension Failure {
    static func isChanging(_ path: RelativePath) -> Failure {
        Failure(.busy, "Another client is changing \(path): try again in a moment.")
    }
}

/// Removes what is stored, for one connection, and records that in the catalog. The client's right to do so was checked
/// before. Used by one thread at a time.
package final class StoredRemovals {
    private let intake: Intake
    private let store: any TreeChanging
    private var remover: (any TreeRemover)?

    /// Names that are looked at before other clients have their turn.
    private static let namesAtOnce = 512

    package init(_ intake: Intake, _ store: any TreeChanging) {
        (self.intake, self.store) = (intake, store)
    }

    /// - Parameter version: the version that the file must have; nil for any.
    package func begin(
        _ path: RelativePath, isRecursive: Bool, of version: FileVersion? = nil
    ) throws(Failure) -> any TreeRemoval {
        let remover = remover ?? store.remover()
        self.remover = remover
        return try remover.begin(path, isRecursive: isRecursive, of: version)
    }

    /// Continues a removal, for at most `namesAtOnce` names.
    ///
    /// - Parameter files: receives the number of removed files, even if this throws.
    /// - Returns: whether everything is removed; in that case the caller has to call `commit`.
    package func goOn(_ removal: any TreeRemoval, gone files: inout UInt64) throws(Failure) -> Bool {
        defer { files += forget(removal.takeRemoved()) }
        return try removal.step(Self.namesAtOnce)
    }

    /// Whether `commit` has to be called before anything else is removed.
    package var mustCommit: Bool { remover?.isFull ?? false }

    /// Makes the completed removals durable.
    package func commit() throws(Failure) { try remover?.commit() }

    /// Forgets removed files. If another client stores a file at one of these paths meanwhile, that file stays in the
    /// catalog: it is the object that is at the path now, or it was acknowledged after `moment`.
    ///
    /// - Returns: the number of files.
    private func forget(_ files: [RemovedFile]) -> UInt64 {
        guard !files.isEmpty else { return 0 }
        intake.known.indexIfNeeded()
        intake.quotas.removed(files)
        guard !store.recordsChanges else { return UInt64(files.count) }
        let moment = intake.clock.utc()
        intake.known.forget(
            files.map { file in
                .init(file.path.string, by: intake.store.version(at: file.path)?.object, at: moment)
            })
        return UInt64(files.count)
    }
}

/// The last changes that this server has made to stored files, in order. If the file of an upload is changed between
/// its publication and its record, `PublishedRecording` records it with these changes.
final class RecentChanges: Sendable {
    /// What has become of a file since a moment.
    struct Course: Equatable {
        /// The path of the file now; the original path if it was not moved.
        var place: RelativePath

        /// Times of modification that this server has set, in the form of `ContentVersion.revision`.
        var revisions: Set<Int64> = []

        /// Further names that the file has got.
        var links: [RelativePath] = []
    }

    private struct Change {
        let number: Int
        let form: IntendedChange.Form
        let path: RelativePath
        let target: RelativePath
        let revision: Int64?
    }

    /// The most changes that are kept. They suffice, because a publication is recorded within milliseconds.
    private static let capacity = 256

    private let last = Locked<[Change]>([])
    private let count = Atomic(0)
    private let moved = Atomic(0)

    /// A number that grows with each change. Read it before a publication, and compare it after the record.
    var moment: Int { count.load(ordering: .acquiring) }

    /// A number that grows with each change that gives something another path.
    var moves: Int { moved.load(ordering: .acquiring) }

    /// Call this when the change is made, before it is recorded in the catalog.
    func add(_ change: IntendedChange) {
        guard let path = RelativePath(stored: change.path), let target = RelativePath(stored: change.target) else {
            return
        }
        last.withLock { changes in
            let number = count.load(ordering: .relaxed)
            changes.append(
                Change(number: number, form: change.form, path: path, target: target, revision: change.revision))
            if changes.count > Self.capacity { changes.removeFirst(changes.count - Self.capacity) }
            count.store(number &+ 1, ordering: .releasing)
            if [.move, .keep, .folder].contains(change.form) { moved.wrappingAdd(1, ordering: .releasing) }
        }
    }

    /// What has become of the file that had a path at a moment.
    ///
    /// - Returns: nil if no change concerns it.
    func course(of path: RelativePath, since moment: Int) -> Course? {
        last.withLock { changes in
            var course = Course(place: path)
            // If changes since that moment are no longer kept, some of them may have concerned the file.
            var isMet = (changes.first?.number ?? 0) > moment
            for change in changes where change.number >= moment {
                if change.target == course.place || change.path == course.place { isMet = true }
                switch change.form {
                case .move, .keep, .folder:
                    guard let place = Self.place(of: course.place, behind: change) else { continue }
                    (course.place, isMet) = (place, true)
                case .link where change.path == course.place:
                    course.links.append(change.target)
                    if let revision = change.revision { course.revisions.insert(revision) }
                case .attributes where change.path == course.place:
                    if let revision = change.revision { course.revisions.insert(revision) }
                case .link, .attributes, .replacement: continue
                }
            }
            return isMet ? course : nil
        }
    }

    /// - Returns: nil if the move does not affect the path.
    private static func place(of path: RelativePath, behind move: Change) -> RelativePath? {
        if path == move.path { return move.target }
        return path.below(move.path).flatMap { RelativePath(stored: "\(move.target.string)/\($0.string)") }
    }
}
