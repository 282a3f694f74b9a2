import TransferModel
package import TransferPorts
import TransferSystem

/// What was removed from the trash at once to make room.
package struct GivenWay: Equatable, Sendable {
    /// Trash batches from which anything was removed.
    package var batches = 0
    package var files: UInt64 = 0
    /// Bytes that became free in the store.
    package var bytes: UInt64 = 0
}

/// Removes the oldest content of the trash when room or a quota is needed: whole batches for the room of the store, and
/// files that count for one client for that client's quota. If all of it would not be enough, nothing is removed.
///
/// The content is removed in steps, as in any removal, and only threads that need the room wait for that. Safe to call
/// from any thread.
final class TrashRoom: Sendable {
    private struct State {
        var isBusy = false
        /// For each party, the bytes that its last search could not free, and the time before which no other search for
        /// as many bytes begins, because a search reads the whole trash. Times are nanoseconds of the monotonic clock.
        var hopeless: [Party: (lacking: UInt64, until: Int64)] = [:]
    }

    private enum Party: Hashable {
        case directory
        case disk
        case client(UInt64?)
    }

    /// Nanoseconds between two searches for the same room.
    private static let pause: Int64 = 10_000_000_000

    /// The most failed searches that are remembered.
    private static let mostHopeless = 1024

    private weak let intake: Intake?
    private let store: any ServerStore
    private let state = Monitor(State())

    init(_ intake: Intake, _ store: any ServerStore) { (self.intake, self.store) = (intake, store) }

    /// - Returns: whether there may be more room than before.
    func makeRoom(_ need: RoomNeed) -> Bool {
        switch need {
        case .stored(let lacking):
            alone(.directory, lacking) { intake in self.removeBatches(lacking, intake) { $0.stored } }
        case .disk(let lacking):
            alone(.disk, lacking) { intake in self.removeBatches(lacking, intake) { $0.onDisk } }
        }
    }

    /// Makes room in the quota of one client.
    ///
    /// - Parameter cost: what the quota gets back when the file of an upload is gone.
    func makeRoom(_ lacking: UInt64, of client: KnownCaller, cost: (CatalogEntry) -> UInt64) -> Bool {
        alone(.client(client.id), lacking) { intake in self.removeFiles(lacking, of: client, intake, cost: cost) }
    }

    /// Lets one thread at a time make room. Other threads wait for it, and then try with the room that there is.
    ///
    /// - Parameter body: returns what was removed; no files if they would not be enough.
    private func alone(_ party: Party, _ lacking: UInt64, _ body: (Intake) -> GivenWay) -> Bool {
        guard let intake, lacking > 0 else { return false }
        let now = intake.clock.monotonic()
        switch enter(party, lacking, now: now) {
        case .isHopeless: return false
        case .waited: return true
        case .entered: break
        }
        let given = body(intake)
        leave(party, given.files == 0 ? (lacking, now.addingReportingOverflow(Self.pause).partialValue) : nil)
        guard given.files > 0 else { return false }
        intake.report(.trashGaveWay(given))
        return true
    }

    private enum Entrance {
        case entered, waited, isHopeless
    }

    private func enter(_ party: Party, _ lacking: UInt64, now: Int64) -> Entrance {
        state.withLock {
            if let known = state.state.hopeless[party], known.lacking <= lacking, now < known.until {
                return .isHopeless
            }
            guard state.state.isBusy else {
                state.state.isBusy = true
                return .entered
            }
            // There is only one thread, so waiting for the search that is under way would never end.
            guard !store.isSerial else { return .isHopeless }
            while state.state.isBusy { state.wait() }
            return .waited
        }
    }

    private func leave(_ party: Party, _ hopeless: (lacking: UInt64, until: Int64)?) {
        state.withLock {
            if state.state.hopeless.count >= Self.mostHopeless { state.state.hopeless = [:] }
            state.state.hopeless[party] = hopeless
            state.state.isBusy = false
            state.wakeAll()
        }
    }
}

// MARK: Whole trash batches

extension TrashRoom {
    /// - Parameter count: selects the kind of freeable room that counts.
    private func removeBatches(
        _ lacking: UInt64, _ intake: Intake, _ count: (FreeableRoom) -> UInt64
    ) -> GivenWay {
        var given = GivenWay()
        guard let batches = try? store.trash(below: nil).sorted(by: { PathKey($0.name) < PathKey($1.name) }) else {
            return given
        }
        var (chosen, sum): ([(TrashBatch, UInt64)], UInt64) = ([], 0)
        for batch in batches where sum < lacking {
            let bytes = count(store.freeable(batch))
            // Removing files that have other names makes no room.
            guard bytes > 0 else { continue }
            chosen.append((batch, bytes))
            sum = sum.addingClamped(bytes)
        }
        guard sum >= lacking else { return given }
        let removals = StoredRemovals(intake, store)
        for (batch, bytes) in chosen {
            let files = remove(.trash(batch, nil), removals)
            guard files > 0 else { continue }
            given.batches += 1
            given.files = given.files.addingClamped(files)
            given.bytes = given.bytes.addingClamped(bytes)
        }
        return given
    }

    /// - Returns: how many files are gone, even if some could not be removed.
    private func remove(_ path: RelativePath, _ removals: StoredRemovals) -> UInt64 {
        var files: UInt64 = 0
        do throws(Failure) {
            let removal = try removals.begin(path, isRecursive: true)
            // The removal need not be durable. Without a sync, clients that need the room wait less.
            while try !removals.goOn(removal, gone: &files) {}
        } catch {
            // What is left is removed when room is needed the next time.
        }
        return files
    }
}

// MARK: Files of one client

extension TrashRoom {
    private struct File {
        let path: RelativePath
        let cost: UInt64
    }

    private func removeFiles(
        _ lacking: UInt64, of client: KnownCaller, _ intake: Intake, cost: (CatalogEntry) -> UInt64
    ) -> GivenWay {
        var given = GivenWay()
        let files = files(lacking, of: client, intake, cost: cost)
        guard files.reduce(0, { $0.addingClamped($1.cost) }) >= lacking else { return given }
        var removals = StoredRemovals(intake, store)
        var batches: Set<TrashBatch> = []
        for file in files {
            // These removals are never committed, so the folders that they keep open are closed here.
            if removals.mustCommit { removals = StoredRemovals(intake, store) }
            let count = remove(file.path, removals)
            guard count > 0 else { continue }
            TrashBatch(of: file.path).map { _ = batches.insert($0) }
            given.files = given.files.addingClamped(count)
            given.bytes = given.bytes.addingClamped(file.cost)
        }
        given.batches = batches.count
        store.tidyTrash(Set(files.compactMap(\.path.parent)))
        return given
    }

    /// Files in the trash that count for a client, the oldest first, until they are enough. The catalog lists paths in
    /// the order of their bytes, and the names of the batches begin with the time.
    private func files(
        _ lacking: UInt64, of client: KnownCaller, _ intake: Intake, cost: (CatalogEntry) -> UInt64
    ) -> [File] {
        var (files, sum): ([File], UInt64) = ([], 0)
        intake.known.indexIfNeeded()
        _ = intake.known.forEachEntryByPath(from: client) { entry in
            guard sum < lacking, let path = RelativePath(stored: entry.path), TrashBatch(of: path) != nil,
                path != files.last?.path, let version = store.version(at: path),
                intake.adoption.counts(entry, as: version)
            else { return }
            files.append(File(path: path, cost: cost(entry)))
            sum = sum.addingClamped(files[files.count - 1].cost)
        }
        return files
    }
}

extension KnownUploads {
    /// Calls `body` with all entries of one client, in the order of paths.
    ///
    /// - Returns: false if the catalog cannot be read.
    fileprivate func forEachEntryByPath(from caller: KnownCaller, _ body: (CatalogEntry) -> Void) -> Bool {
        do throws(RecordsError) {
            try records.forEachEntryByPath { if caller.hasSent($0) { body($0) } }
            return true
        } catch {
            complain(error, unrecorded: 0)
            return false
        }
    }
}

extension Intake {
    /// Lets the trash make room when the store or a quota needs it.
    ///
    /// - Parameter store: the store that uploads go to.
    package func giveWay(in store: any ServerStore) {
        let room = TrashRoom(self, store)
        quotas.trash.withLock { $0 = room }
        store.whenFull { [weak room] need in room?.makeRoom(need) ?? false }
    }
}
