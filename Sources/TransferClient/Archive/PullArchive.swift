import TransferIO
import TransferModel
import TransferProtocol
import TransferPorts
import TransferStore
import TransferSystem

/// Stores the links, folders and attributes that a pull with `ClientConfiguration.archives` fetches. It creates links after all
/// files, so that no file is written through a link.
final class PullArchive: Sendable {
    private struct State {
        /// The files that are other names of a fetched file.
        var files: [RelativePath: PullFile] = [:]
        /// The reports of files that existed already, held back until their attributes are set.
        var held: [ObjectIdentifier: PullReport] = [:]
    }

    private struct Opening {
        var found = FoundFolders()
        /// The editor of folders that were created and are not synced yet.
        var editor: TreeEditor?
    }

    /// The memory for entries that the server lists.
    private struct Room {
        var budget: ListBudget
        var isFull = false
    }

    private let client: TransferClient
    private let place: PullPlace
    private let events: EventQueue<PullEvent>
    private let notes: ArchiveNotes
    private let keeping = AttributeKeeping(
        owners: Privileges.areRoots, rights: .fetching(isRoot: Privileges.areRoots))
    private let state = Locked(State())
    /// Locked while folders are created and opened: other threads with entries for such a folder wait until it is open.
    private let folders = Locked(Opening())
    private let room: Locked<Room>

    init(_ client: TransferClient, _ place: PullPlace, _ events: EventQueue<PullEvent>) {
        (self.client, self.place, self.events) = (client, place, events)
        room = Locked(Room(budget: client.listBudget))
        let directory = place.present
        // Empty folders are kept: folders that a pattern only passes through are never added to the notes.
        notes = ArchiveNotes(keepsEmptyFolders: true) { path in directory?.whole(path).map { SyncEntry($0) } }
    }

    private var conflict: ConflictPolicy { client.requestContext.configuration.conflict }

    /// The number of folders, links and other names of files that will be reported.
    var count: Int { notes.count }

    /// Whether the memory was too small, so that some entries were not noted.
    var isFull: Bool { room.withLock { $0.isFull } }

    /// Counts bytes for an entry that is kept in memory.
    ///
    /// - Returns: false if the memory for entries is used up.
    private func hold(_ bytes: UInt64) -> Bool {
        room.withLock { room in
            do throws(TransferFailure) {
                try room.budget.hold(bytes)
            } catch {
                room.isFull = true
            }
            return !room.isFull
        }
    }
}

// MARK: Finding

extension PullArchive {
    /// Notes a symbolic link.
    ///
    /// - Parameter source: the path on the server.
    func add(link source: String, _ listed: ListedEntry, at target: RelativePath) {
        guard let entry = held(source, listed, at: target) else { return }
        want(into: target)
        notes.add(ArchiveItem(.link, source, entry, there: notes.there(target)))
    }

    /// Notes a folder, without knowing yet whether an entry in it is wanted.
    ///
    /// - Parameter source: the path on the server.
    func add(folder source: String, _ listed: ListedEntry, at target: RelativePath) {
        guard let entry = held(source, listed, at: target) else { return }
        let folder = FoundFolders.Folder(source: source, entry: entry)
        folders.withLock { folders in
            if folders.found.add(folder) { take(folder, &folders.editor) }
        }
    }

    /// Marks a folder as wanted, whatever is in it.
    func wants(folder: RelativePath) {
        folders.withLock { folders in
            for found in folders.found.want(folder) { take(found, &folders.editor) }
        }
    }

    /// Whether to fetch a file. If not, the file is noted as another name of a fetched file, or it is left out because
    /// there is no memory for it.
    func takes(_ file: PullFile) -> Bool {
        let bytes = ListBudget.bytes(path: file.target.string.utf8.count, file.entry.extras)
        guard hold(bytes) else { return false }
        want(into: file.target)
        guard let entry = SyncEntry(file.entry)?.at(file.target) else { return true }
        file.kept = kept(entry).extra
        file.named = entry.named
        guard let named = entry.named else {
            file.held = bytes
            return true
        }
        guard notes.hasName(named, file.target) else { return true }
        let item = ArchiveItem(.hardLink, file.source, entry, there: notes.there(file.target))
        notes.add(item)
        state.withLock { $0.files[file.target] = file }
        return false
    }

    private func held(_ source: String, _ listed: ListedEntry, at target: RelativePath) -> SyncEntry? {
        guard let found = SyncEntry(RemoteEntry(source, listed)),
            hold(ListBudget.bytes(path: target.string.utf8.count, listed.extras))
        else { return nil }
        return kept(found.at(target))
    }

    private func kept(_ entry: SyncEntry) -> SyncEntry { keeping.owners ? entry : entry.withoutOwner }

    /// Marks the folders above a path as wanted.
    private func want(into path: RelativePath) {
        if let parent = path.parent { wants(folder: parent) }
    }

    /// Notes a wanted folder and opens it; the folders above it are open already. Every opened folder is in the notes,
    /// and so is closed at the end.
    private func take(_ folder: FoundFolders.Folder, _ editor: inout TreeEditor?) {
        let path = folder.entry.path
        let item = ArchiveItem(.folder, folder.source, folder.entry, there: notes.there(path))
        notes.add(item)
        guard case .directory(let directory) = place else { return }
        let current = editor ?? directory.editor()
        do throws(Failure) {
            if try open(item, current) { notes.touch(path) }
            editor = current.isFull ? nil : current
            if current.isFull { try current.commit() }
        } catch {
            // The entries that go into the folder fail and report it.
        }
    }

    /// Prepares a folder for files: it may be missing, closed, or another entry may be in its place. It gets no more
    /// permissions for others than it will have at the end.
    ///
    /// - Returns: whether anything was changed.
    private func open(_ item: ArchiveItem, _ editor: TreeEditor) throws(Failure) -> Bool {
        if let there = item.there, there.isFolder {
            guard there.isClosed else { return false }
            _ = try editor.set(item.path, permissions: there.openPermissions, modified: nil, nil)
        } else {
            let replaces = conflict == .overwrite
            guard item.there == nil || replaces else { return false }
            try editor.makeDirectory(item.path, replaces: replaces, permissions: item.entry.openPermissions)
        }
        return true
    }

    /// Syncs the folders that were created.
    private func commit() throws(Failure) {
        try folders.withLock { (folders) throws(Failure) in
            try folders.editor?.commit()
            folders.editor = nil
        }
    }
}

// MARK: Files

extension PullArchive {
    /// Notes where a file is stored.
    ///
    /// - Returns: whether its report must wait, because the file existed already and needs other attributes.
    func holds(_ report: PullReport, of file: PullFile) -> Bool {
        let holds = mustWait(report, file)
        if !holds { room.withLock { $0.budget.release(file.held) } }
        return holds
    }

    private func mustWait(_ report: PullReport, _ file: PullFile) -> Bool {
        guard let stored = report.path.flatMap({ try? RelativePath($0) }), report.result.isSuccess else {
            notes.failed(file.target, report.result)
            return false
        }
        let isNew = report.result == .committed
        notes.placed(
            file.target,
            ArchiveNotes.Stored(
                path: stored, size: report.size, digest: report.digest ?? file.entry.digest, isNew: isNew))
        guard !isNew, case .directory = place, let wanted = SyncEntry(file.entry)?.at(stored) else { return false }
        let item = ArchiveItem(.file, report.source, kept(wanted), there: notes.there(stored))
        guard let there = item.there, item.entry.differs(from: there, keeping) else { return false }
        state.withLock { $0.held[ObjectIdentifier(item)] = report }
        notes.add(item)
        return true
    }
}

// MARK: Links, names and attributes

extension PullArchive {
    /// Creates the noted entries. If the pull has failed, it closes the folders that were opened.
    ///
    /// - Parameter result: the result of the pull.
    func finish(_ result: Result<Void, TransferFailure>) async -> Result<Void, TransferFailure> {
        if case .failure(let failure) = result, failure.reason == .unsupported {
            let advice = "Without --archive the server sends files, with their times. Nothing was fetched."
            return .failure(TransferFailure(reason: .unsupported, message: "\(failure.message) \(advice)"))
        }
        guard case .directory(let directory) = place else {
            await client.pool.run { self.foresee() }
            return result
        }
        let finish = ArchiveFinish(
            target: LocalTarget(client: client, destination: directory, keepsOwners: keeping.owners, digests: [:]),
            notes: notes,
            conflict: conflict, keeping: keeping, asksForAll: false,
            hasContent: { there, file in
                guard there.size == file.size, let digest = file.digest else { return false }
                return (try? directory.has(there.path, size: file.size, digest: digest)) ?? false
            },
            take: { [self] names in
                if case .failure = result { return result }
                return await fetch(names, to: directory)
            },
            report: { [self] item, outcome in report(item, outcome) })
        var ending = result
        do throws(TransferFailure) {
            try await client.pool.run { Result { () throws(Failure) in try self.commit() } }
                .mapError { TransferFailure(reason: .rejected($0.code), message: $0.message) }.get()
            try await finish.run()
        } catch {
            if case .success = ending { ending = .failure(error) }
            await finish.closeFolders()
        }
        for item in notes.takeOpen() {
            report(item, ArchiveOutcome(result: .connectionLost, path: item.path, message: "It was not fetched."))
        }
        return ending
    }

    private func fetch(_ names: [ArchiveItem], to directory: PullDirectory) async -> Result<Void, TransferFailure> {
        let files = state.withLock { state in names.compactMap { state.files[$0.path] } }
        do throws(TransferFailure) {
            for try await event in client.pull(files, to: directory) {
                guard case .finished(let report) = event else { continue }
                if let file = files.first(where: { $0.source.hasSameBytes(as: report.source) }),
                    holds(report, of: file)
                {
                    continue
                }
                events.send(event)
            }
            return .success(())
        } catch {
            return .failure(error)
        }
    }

    private func report(_ item: ArchiveItem, _ outcome: ArchiveOutcome) {
        let held = state.withLock { $0.held[ObjectIdentifier(item)] }
        var report = held ?? PullReport(source: item.source, result: outcome.result, size: item.entry.size)
        report.hasNewAttributes = outcome.hasNewAttributes
        if held == nil {
            (report.form, report.target, report.message) = (item.form, item.path.string, outcome.message)
            let isHere = outcome.result == .committed || outcome.result == .alreadyStored
            report.path = isHere ? outcome.path.string : nil
            if isHere, case .stored(let first) = notes.first(of: item.entry.named) { report.digest = first.digest }
        } else if !outcome.result.isSuccess {
            (report.result, report.message, report.path) = (outcome.result, outcome.message, nil)
        }
        events.send(.finished(report))
    }

    /// Sends an event for each entry that would be created.
    private func foresee() {
        for item in notes.found where !isHere(item) {
            var planned = PlannedDownload(source: item.source, path: item.path.string, size: item.entry.size)
            planned.form = item.form
            events.send(.planned(planned))
        }
    }

    private func isHere(_ item: ArchiveItem) -> Bool {
        guard let there = item.there, there.form == item.entry.form else { return false }
        guard item.form == .hardLink else { return true }
        guard case .stored(let first) = notes.first(of: item.entry.named) else { return false }
        return there.named != nil && there.named == notes.there(first.path)?.named
    }
}

extension PullPlace {
    /// The directory that is pulled to; nil if a preview is for a directory that does not exist.
    fileprivate var present: PullDirectory? {
        switch self {
        case .directory(let directory): directory
        case .preview(let directory): directory
        }
    }
}
