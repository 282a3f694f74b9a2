import TransferCatalog
import TransferDatabase
import TransferModel
import TransferStore
import TransferSystem

/// What becomes of uploads whose files this server moves, links, replaces, or gives other attributes.
///
/// Each change is noted in the catalog (`intend`), made and synced by a `ChangeBatch`, and then told to the catalog (`complete`), which
/// takes the note away. A change whose sync has failed keeps its note and is settled later (`UnsettledChanges`).
extension KnownUploads {
    /// Changes that were made and that the catalog could not be told of.
    struct Untold {
        typealias Change = (noted: NotedChanges, changes: KnownChanges)

        var changes: [Change] = []
        /// Whether a thread is telling the catalog of the first of them.
        var isTold = false
    }

    /// Notes what is about to be changed, before it is: whatever ends this server meanwhile, the next one finds out what came of it.
    ///
    /// - Parameter store: the same that uploads go to.
    /// - Throws: where it cannot be noted. Nothing may be changed then.
    func intend(_ changes: [IntendedChange], in store: FileStore) throws(Failure) -> NotedChanges {
        guard !changes.isEmpty else { return .none }
        do throws(DatabaseError) {
            // The notes of an earlier server are read before there are any of this one. These changes were not compared with them.
            if try loadUnsettled(in: store) > 0, unsettled.withLock({ !$0.changes.isEmpty }) {
                throw DatabaseError(.busy, "It has just told of changes that are to be settled first.")
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

    /// Lets files be known that were about to be replaced and have their paths still.
    func restamp(_ files: [TouchedFile]) {
        var changes = KnownChanges()
        for file in files { changes.add(touched(file)) }
        complete(.none, changes)
    }

    /// Tells the catalog what files are now. What cannot be recorded is tried again later. The caller keeps others from changing these
    /// paths until this returns; other uploads and changes do not wait for it.
    func complete(_ noted: NotedChanges, _ changes: KnownChanges) {
        recent.forget(changes.paths)
        do throws(DatabaseError) {
            try records.complete(noted, changes)
        } catch {
            complain(error, unrecorded: 0)
            untold.withLock { $0.changes.append((noted, changes)) }
        }
    }

    /// - Returns: why there is something that the catalog could not be told.
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
}

extension Intake {
    /// Records uploads that are published, before they are acknowledged, as this server's changes have left them since.
    ///
    /// - Parameters:
    ///   - receipts: that entries have the numbers of.
    ///   - moment: `RecentChanges.moment` before they were published.
    func record(_ entries: [CatalogEntry], with receipts: SignedBatch?, since moment: Int) {
        known.record(entries, with: receipts)
        var changes = keeps(of: entries)
        guard known.recentChanges.moment != moment || !changes.isEmpty else { return }
        for entry in entries { add(changesOf: entry, since: moment, to: &changes) }
        if !changes.isEmpty { known.complete(.none, changes) }
    }

    /// Entries whose files have given way to others since they were published.
    private func keeps(of entries: [CatalogEntry]) -> KnownChanges {
        let files = entries.compactMap { entry in entry.version.map { (path: entry.path, version: $0) } }
        let places = known.recentKeeps.places(of: files.map { ($0.path, $0.version.object) })
        var changes = KnownChanges()
        for (file, place) in zip(files, places) {
            guard let place, let batch = TrashBatch(of: place), let now = store.version(at: place),
                now.object == file.version.object
            else { continue }
            let version = KeptFile.Versions(before: file.version, after: now)
            changes.add(KnownChanges(KeptFile(place: place, in: batch, version: version), version, of: file.path))
        }
        return changes
    }

    private func add(changesOf entry: CatalogEntry, since moment: Int, to changes: inout KnownChanges) {
        guard let published = entry.version, let path = RelativePath(stored: entry.path),
            let course = known.recentChanges.course(of: path, since: moment)
        else { return }
        let found = store.version(at: path)
        let (place, now) =
            found?.object == published.object ? (path, found) : (course.place, store.version(at: course.place))
        guard let now, now.object == published.object else {
            changes.replaced.append(.init(entry.path, by: found?.object, at: entry.committed))
            return
        }
        let isKnown = now.hasContent(of: published, orSetTo: course.revisions)
        for link in course.links {
            guard isKnown, let other = store.version(at: link), other.object == now.object else { continue }
            changes.links.append(
                PathLink(entry.path, as: link.string, before: published, after: other, at: entry.committed))
        }
        if place != path {
            changes.moves.append(PathMove(entry.path, to: place.string, object: published.object, at: .min))
        }
        if isKnown, now != published {
            changes.versions.append(VersionChange(path: place.string, before: published, after: now))
        }
    }
}

extension Failure {
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
