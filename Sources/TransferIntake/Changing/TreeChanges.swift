package import TransferAccess
package import TransferModel
package import TransferStore

/// Makes and changes names, folders and attributes for one connection, and lets the catalog know. Used by one thread at a time.
///
/// **The order is note, change, sync, catalog.** Changes that come together are noted together, so that they cost one sync more and
/// not one each. A server that ends between two of these leaves the note, and the next one looks what came of it.
package final class TreeChanges {
    private let intake: Intake
    private let store: FileStore
    /// What the connection puts into the trash stands together there.
    private let trash: TrashPart
    /// Whether what gives way to something goes there, too.
    private let keepsReplaced: Bool
    /// The command of the client that the changes are part of, as far as it has said so.
    package var command: StoringCommand?

    /// Whose changes they are, where what clients have has limits.
    package var grant: Grant?

    /// Changes that belong to one note.
    private static let mostAtOnce = 128

    /// - Parameters:
    ///   - trash: where the connection puts things.
    ///   - keepsReplaced: whether what gives way to something goes there as what is discarded does.
    package init(_ intake: Intake, _ store: FileStore, trash: TrashPart, keepsReplaced: Bool) {
        (self.intake, self.store, self.trash, self.keepsReplaced) = (intake, store, trash, keepsReplaced)
    }

    /// - Parameter makeBatch: a new part of the trash; its moment is UTC, in nanoseconds since 1970.
    package convenience init(
        _ intake: Intake, _ store: FileStore, keepsReplaced: Bool = false,
        makeBatch: @escaping (_ moment: Int64) -> TrashBatch = { .begun(at: $0) }
    ) {
        let trash = TrashPart(utc: intake.clock.utc, makeBatch: makeBatch)
        self.init(intake, store, trash: trash, keepsReplaced: keepsReplaced)
    }

    /// Makes changes one after the other. When this returns, those that succeeded are as durable as the store is, and known.
    ///
    /// - Returns: one result for each, in their order.
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

    /// Whether the same path went to this part of the trash before.
    private func isInTrash(_ change: TreeChange, _ batch: TrashBatch, _ result: Result<TreeChange.Done, Failure>)
        -> Bool
    {
        guard case .failure(let error) = result, error.code == .pathConflict else { return false }
        if case .discard = change { return true }
        return keepsReplaced && (change.replaced.map { store.exists(.trash(batch, $0)) } ?? false)
    }

    /// Makes those at the front that do not need one another: at least one.
    ///
    /// - Parameter batch: where things go.
    private func performSome(
        _ changes: ArraySlice<TreeChange>, in batch: TrashBatch
    ) -> [Result<TreeChange.Done, Failure>] {
        let keeping = keepsReplaced ? batch : nil
        intake.known.settleChanges(in: store)
        let turn = intake.changing.begin()
        defer { intake.changing.end(turn) }
        var results: [Result<TreeChange.Done, Failure>] = []
        var planned: [PlannedChange] = []
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
                    // Others let go of their paths behind this.
                    guard !intake.known.isUnsettled(looked + changed, movesFolders: change.movesFolders) else {
                        throw .isUnsettled(change.path)
                    }
                    if let path = change.restamped { try intake.prepareChange(of: path) }
                    if change.makesMore { try intake.store.checkRoom() }
                    shares[results.count] = try grant.flatMap { (grant) throws(Failure) in
                        try intake.quotas.share(for: change, of: grant)
                    }
                    let moment = intake.clock.utc()
                    planned.append(
                        try PlannedChange(
                            results.count, change, trashed: trashed, keepingIn: keeping, at: moment, in: store))
                    return TreeChange.Done()
                })
        }
        let (failures, kept) = ChangeBatch(intake.known, store, for: command).make(planned)
        for (index, batch) in kept { results[index] = .success(TreeChange.Done(trash: batch)) }
        for (index, error) in failures { results[index] = .failure(error) }
        for (index, change) in zip(results.indices, changes) {
            guard case .success = results[index] else { continue }
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
    /// Where something goes that is discarded; nil for what is not.
    fileprivate func place(in batch: TrashBatch) -> RelativePath? {
        if case .discard(let path, _, _) = self { .trash(batch, path) } else { nil }
    }

    /// Whether it needs room that stays used. What moves things or takes them out of sight may be a way to have room again.
    fileprivate var makesMore: Bool {
        switch self {
        case .folder, .link, .hardLink, .set: true
        case .move, .discard: false
        }
    }

    /// From where to where it moves something.
    ///
    /// - Parameter trashed: where it goes if it is discarded.
    fileprivate func moved(to trashed: RelativePath?) -> (RelativePath, RelativePath)? {
        switch self {
        case .move(let path, let target, _, _): (path, target)
        case .discard(let path, _, _): trashed.map { (path, $0) }
        case .folder, .link, .hardLink, .set: nil
        }
    }

    /// A file that gets another time of modification.
    fileprivate var restamped: RelativePath? {
        switch self {
        case .set(let path, let attributes, _): attributes.modified == nil ? nil : path
        case .hardLink(_, let source, _, _, _): source
        case .folder, .link, .move, .discard: nil
        }
    }

    /// Whether a folder has another path behind it, with all that is in it.
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
