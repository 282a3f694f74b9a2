import TransferCatalog
import TransferDatabase
package import TransferModel
package import TransferStore
import TransferSystem

/// What becomes of uploads whose files this server moves, links, replaces, or gives other attributes.
extension KnownUploads {
    /// Notes what is about to be changed, before it is: whatever ends this server meanwhile, the next one finds out what came of it.
    ///
    /// - Parameter store: the same that uploads go to.
    /// - Throws: where it cannot be noted. Nothing may be changed then.
    func intend(_ changes: [IntendedChange], in store: FileStore) throws(StoreError) -> NotedChanges {
        guard !changes.isEmpty else { return .none }
        do throws(DatabaseError) {
            // What is behind it would be told in another order.
            try settleEarlier(in: store)
            if let error = tellUntold() { throw error }
            return try records.intend(changes)
        } catch {
            complain(error, unrecorded: 0)
            throw StoreError(notNoted: error)
        }
    }

    /// Files are something else now than they were. What cannot be recorded is tried again later. Others that change what has to do
    /// with it are kept away until this returns, and nobody else waits for it.
    func complete(_ noted: NotedChanges, _ changes: KnownChanges) {
        recent.forget(changes.paths)
        do throws(DatabaseError) {
            try records.complete(noted, changes)
        } catch {
            complain(error, unrecorded: 0)
            untold.withLock { $0.changes.append((noted, changes)) }
        }
    }

    /// - Returns: why there is something that could not be told.
    func tellUntold() -> DatabaseError? {
        while true {
            let (next, isBusy) = untold.withLock { untold in
                let isBusy = untold.isTold
                guard !isBusy, let first = untold.changes.first else { return (nil as Untold.Change?, isBusy) }
                untold.isTold = true
                return (first, false)
            }
            guard let next else {
                return isBusy ? DatabaseError(.busy, "It is just told of earlier changes.") : nil
            }
            do throws(DatabaseError) {
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

    /// What this server has changed, and the catalog could not be told.
    struct Untold {
        typealias Change = (noted: NotedChanges, changes: KnownChanges)

        var changes: [Change] = []
        /// Whether somebody is at the first of them.
        var isTold = false
    }

    /// A file was copied. The copy is the client's, as what it has pushed itself.
    ///
    /// - Parameters:
    ///   - digest: of its content.
    ///   - isDurable: whether it is on disk with its name.
    ///   - moment: of now; UTC, in nanoseconds since 1970.
    package func copied(
        _ path: RelativePath, kind: ContentKind, _ digest: Digest, _ version: ContentVersion, by caller: Caller,
        isDurable: Bool, at moment: Int64
    ) {
        var entry = CatalogEntry(found: path, digest: digest, version: version, at: moment)
        (entry.kind, entry.sender, entry.client, entry.isDurable) = (kind, caller.sender, caller.id, isDurable)
        record([entry])
    }
}

// MARK: What an earlier server had noted

extension KnownUploads {
    /// Lets the catalog know what came of changes that an earlier server did not come to the end of.
    ///
    /// The names that are found are synced first: whoever was killed may not have done that, and a power cut would bring back what
    /// was before. Where they cannot be, the notes stay.
    ///
    /// - Returns: how many there were.
    fileprivate func settleIntended(in store: FileStore) throws(DatabaseError) -> Int {
        let intended = try records.intended()
        guard !intended.isEmpty else { return 0 }
        let paths = intended.compactMap(\.change).flatMap { [$0.path, $0.target] }
        let isDurable = store.confirmNames(of: paths.compactMap(RelativePath.init(stored:)))
        return try records.settleIntended(keepsNotes: !isDurable) { (path) throws(StoreError) in
            try store.object(at: path)
        }
    }

    /// Does what could not be done at the start.
    private func settleEarlier(in store: FileStore) throws(DatabaseError) {
        try isUnsettled.withLock { (isUnsettled) throws(DatabaseError) in
            guard isUnsettled else { return }
            _ = try settleIntended(in: store)
            isUnsettled = false
        }
    }
}

extension Intake {
    /// Lets the catalog know what came of changes that an earlier server did not come to the end of. To be called before the first
    /// upload and the first change; where the catalog cannot be read or written then, it is done before the first change.
    ///
    /// - Parameter store: the same that uploads go to.
    /// - Returns: how many there were.
    package func settleIntended(in store: FileStore) -> Int {
        do throws(DatabaseError) {
            return try known.settleIntended(in: store)
        } catch {
            known.isUnsettled.withLock { $0 = true }
            known.complain(error, unrecorded: 0)
            return 0
        }
    }

    /// Records uploads that are published, before they are acknowledged, and finds those that were moved in between.
    ///
    /// - Parameters:
    ///   - receipts: that entries have the numbers of.
    ///   - moment: of `known.moved`, before they were published.
    func record(_ entries: [CatalogEntry], with receipts: BatchSeal?, since moment: Int) {
        known.record(entries, with: receipts)
        guard known.moved.moment != moment else { return }
        var changes = KnownChanges()
        for entry in entries {
            guard let version = entry.version, let path = RelativePath(stored: entry.path),
                let place = known.moved.place(of: path, since: moment)
            else { continue }
            let found = store.version(at: path)
            guard found?.object != version.object else { continue }
            if place != path, let moved = store.version(at: place), moved.object == version.object {
                changes.moves.append(PathMove(entry.path, to: place.string, object: version.object, at: .min))
                if moved != version {
                    changes.versions.append(VersionChange(path: place.string, before: version, after: moved))
                }
            } else {
                changes.replaced.append(.init(entry.path, by: found?.object, at: entry.committed))
            }
        }
        if !changes.isEmpty { known.complete(.none, changes) }
    }
}

extension StoreError {
    fileprivate init(notNoted error: DatabaseError) {
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
