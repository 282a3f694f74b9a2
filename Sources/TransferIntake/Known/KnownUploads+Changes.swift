import TransferCatalog
import TransferDatabase
package import TransferModel
package import TransferStore
import TransferSystem

/// What becomes of uploads whose files this server moves, links, replaces, or gives other attributes.
extension KnownUploads {
    /// Notes what is about to be changed, before it is: whatever ends this server meanwhile, the next one finds out what came of it.
    ///
    /// - Throws: where it cannot be noted. Nothing may be changed then.
    func intend(_ changes: [IntendedChange]) throws(StoreError) -> NotedChanges {
        guard !changes.isEmpty else { return .none }
        // What is behind it would be told in another order.
        if let error = tellUntold() { throw StoreError(notNoted: error) }
        do throws(DatabaseError) {
            return try records.intend(changes)
        } catch {
            complain(error, unrecorded: 0)
            throw StoreError(notNoted: error)
        }
    }

    /// Files are something else now than they were. What cannot be recorded is tried again later.
    func complete(_ noted: NotedChanges, _ changes: KnownChanges) {
        recent.forget(changes.paths)
        untold.withLock { $0.append((noted, changes)) }
        _ = tellUntold()
    }

    /// - Returns: why there is something that could not be told.
    func tellUntold() -> DatabaseError? {
        untold.withLock { untold in
            while let first = untold.first {
                do throws(DatabaseError) {
                    try records.complete(first.noted, first.changes)
                } catch {
                    complain(error, unrecorded: 0)
                    return error
                }
                untold.removeFirst()
            }
            return nil
        }
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

extension Intake {
    /// Lets the catalog know what came of changes that an earlier server did not come to the end of. To be called before the first
    /// upload and the first change.
    ///
    /// The names that are found are synced first: whoever was killed may not have done that, and a power cut would bring back what
    /// was before. Where they cannot be, the notes stay.
    ///
    /// - Parameter store: the same that uploads go to.
    /// - Returns: how many there were.
    package func settleIntended(in store: FileStore) -> Int {
        do throws(DatabaseError) {
            let intended = try known.records.intended()
            guard !intended.isEmpty else { return 0 }
            let isDurable = store.confirmNames(
                of: intended.flatMap { [$0.change.path, $0.change.target] }.compactMap(RelativePath.init(stored:)))
            return try known.records.settleIntended(keepsNotes: !isDurable) { (path) throws(StoreError) in
                try store.object(at: path)
            }
        } catch {
            known.complain(error, unrecorded: 0)
            return 0
        }
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
