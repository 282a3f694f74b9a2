import TransferModel
package import TransferPorts
import TransferSystem

/// What has given way of the trash, at once.
package struct GivenWay: Equatable, Sendable {
    /// Parts of the trash that are gone, or from which something is.
    package var batches = 0
    package var files: UInt64 = 0
    /// Bytes that are free since.
    package var bytes: UInt64 = 0
}

/// The trash gives way where room or a quota is needed, the oldest first: to everybody whole parts of it, and to a client's own quota
/// what counts for that client. Where all of it would not do, nothing goes.
///
/// What goes takes the way of any removal, in steps; nobody but those who need room waits for it. Safe to call from any thread.
final class TrashRoom: Sendable {
    private struct State {
        var isBusy = false
        /// For each party, the bytes that its last search has not found, and the time before which no search for as many begins again: a
        /// search reads the whole trash.
        var hopeless: [Party: (lacking: UInt64, until: Int64)] = [:]
    }

    private enum Party: Hashable {
        case directory
        case disk
        case client(UInt64?)
    }

    /// Nanoseconds.
    private static let pause: Int64 = 10_000_000_000

    /// Searches that are remembered at most.
    private static let mostHopeless = 1024

    private weak let intake: Intake?
    private let store: any ServerStore
    private let state = Monitor(State())

    init(_ intake: Intake, _ store: any ServerStore) { (self.intake, self.store) = (intake, store) }

    /// - Returns: whether there is more room than before.
    func makeRoom(_ need: RoomNeed) -> Bool {
        switch need {
        case .stored(let lacking):
            alone(.directory, lacking) { intake in self.removeBatches(lacking, intake) { $0.stored } }
        case .disk(let lacking):
            alone(.disk, lacking) { intake in self.removeBatches(lacking, intake) { $0.onDisk } }
        }
    }

    /// The same for the own quota of a client.
    ///
    /// - Parameter cost: what is given back when the file of an upload is gone.
    func makeRoom(_ lacking: UInt64, of client: KnownCaller, cost: (CatalogEntry) -> UInt64) -> Bool {
        alone(.client(client.id), lacking) { intake in self.removeFiles(lacking, of: client, intake, cost: cost) }
    }

    /// One thread at a time makes room. Others wait, and then try with what there is.
    ///
    /// - Parameter body: says what has given way, nothing where that would not do.
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
            // There is one thread, so the search that is under way would never end.
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

// MARK: Whole parts

extension TrashRoom {
    /// - Parameter count: what counts of what would be free.
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
            // Files that have other names are of no use to anybody who needs room.
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

    /// - Returns: how many files are gone, also where not all of it could be removed.
    private func remove(_ path: RelativePath, _ removals: StoredRemovals) -> UInt64 {
        var files: UInt64 = 0
        do throws(Failure) {
            let removal = try removals.begin(path, isRecursive: true)
            // Nobody is promised that it is gone: without a sync, whoever waits for the room waits less.
            while try !removals.goOn(removal, gone: &files) {}
        } catch {
            // What is left there goes the next time.
        }
        return files
    }
}

// MARK: What is one client's

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

    /// What counts for a client, the oldest first, until it is enough. The paths of the catalog come in the order of their bytes, and
    /// the names of the parts begin with the time.
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

extension Intake {
    /// Lets what is in the trash give way where room or a quota is needed.
    ///
    /// - Parameter store: the same that uploads go to.
    package func giveWay(in store: any ServerStore) {
        let room = TrashRoom(self, store)
        quotas.trash.withLock { $0 = room }
        store.whenFull { [weak room] need in room?.makeRoom(need) ?? false }
    }
}
