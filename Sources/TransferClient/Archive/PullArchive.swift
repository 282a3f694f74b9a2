import Glibc
import TransferIO
import TransferModel
import TransferProtocol
import TransferStore
import TransferSystem

/// What a pull keeps beside the content of files. Links are made when all files are here, so that no file goes through one.
final class PullArchive: Sendable {
    private struct State {
        /// Files that are fetched by another name than their first.
        var files: [RelativePath: PullFile] = [:]
        /// Reports of files that were here, until their attributes are what they should be.
        var held: [ObjectIdentifier: PullReport] = [:]
    }

    private let client: TransferClient
    private let place: PullPlace
    private let events: EventQueue<PullEvent>
    private let notes: ArchiveNotes
    private let keepsOwners = geteuid() == 0
    private let state = Locked(State())

    init(_ client: TransferClient, _ place: PullPlace, _ events: EventQueue<PullEvent>) {
        (self.client, self.place, self.events) = (client, place, events)
        let directory = place.present
        // A pattern leads through folders of which nothing is wanted.
        notes = ArchiveNotes(keepsEmptyFolders: false) { path in directory?.whole(path).map { SyncEntry($0) } }
    }

    private var conflict: ConflictPolicy { client.requestContext.configuration.conflict }

    /// How many there are that nobody was told of.
    var count: Int { notes.count }
}

// MARK: Finding

extension PullArchive {
    /// A folder or a symbolic link was found.
    ///
    /// - Parameters:
    ///   - source: the path on the server.
    ///   - isWanted: of a folder, whether it is so with nothing in it.
    func add(
        _ form: EntryForm, _ source: String, _ listed: ListedEntry, at target: RelativePath, isWanted: Bool = true
    ) {
        guard let found = SyncEntry(RemoteEntry(source, listed)) else { return }
        let item = ArchiveItem(form, source, kept(found.at(target)), there: notes.there(target))
        notes.add(item)
        guard form == .folder else { return }
        if isWanted, client.requestContext.configuration.selection.takesEverything { notes.wants(folder: target) }
        open(item)
    }

    /// Whether a file is fetched; otherwise it is taken note of as another name of one that is.
    func takes(_ file: PullFile) -> Bool {
        notes.wants(file.target)
        guard let entry = SyncEntry(file.entry)?.at(file.target) else { return true }
        file.kept = kept(entry).extra
        file.named = entry.named
        guard let named = entry.named, notes.hasName(named, file.target) else { return true }
        let item = ArchiveItem(.hardLink, file.source, entry, there: notes.there(file.target))
        notes.add(item)
        state.withLock { $0.files[file.target] = file }
        return false
    }

    private func kept(_ entry: SyncEntry) -> SyncEntry { keepsOwners ? entry : entry.withoutOwner }

    /// Files are to go into the folder: it may be closed, or something else may be in its place.
    private func open(_ item: ArchiveItem) {
        guard case .directory(let directory) = place, let there = item.there else { return }
        let editor = directory.editor()
        do throws(StoreError) {
            if !there.isFolder {
                guard conflict == .overwrite else { return }
                try editor.makeDirectory(item.path, replaces: true)
            } else if there.permissions & 0o300 != 0o300 {
                _ = try editor.set(item.path, permissions: there.permissions | 0o700, modified: nil, nil)
                notes.touch(item.path)
            }
            try editor.commit()
        } catch {
            // Whatever goes into it is told that it cannot.
        }
    }
}

// MARK: Files

extension PullArchive {
    /// Takes note of where a file is.
    ///
    /// - Returns: whether its report has to wait: it was here and has to be given other attributes.
    func holds(_ report: PullReport, of file: PullFile) -> Bool {
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
        guard let there = item.there, item.entry.differs(from: there, keepsOwners: keepsOwners) else { return false }
        state.withLock { $0.held[ObjectIdentifier(item)] = report }
        notes.add(item)
        return true
    }
}

// MARK: What is beside files

extension PullArchive {
    /// Makes what was found. Also where the pull has ended early: a folder may have been opened.
    ///
    /// - Parameter result: how the pull has ended.
    func finish(_ result: Result<Void, PushFailure>) async -> Result<Void, PushFailure> {
        if case .failure(let failure) = result, failure.reason == .unsupported {
            let advice = "Without --archive it gives files, with their times. Nothing was fetched."
            return .failure(PushFailure(reason: .unsupported, message: "\(failure.message) \(advice)"))
        }
        guard case .directory(let directory) = place else {
            await client.pool.run { self.foresee() }
            return result
        }
        let finish = ArchiveFinish(
            target: LocalTarget(client: client, destination: directory, keepsOwners: keepsOwners, digests: [:]),
            notes: notes,
            conflict: conflict, keepsOwners: keepsOwners, asksForAll: false,
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
        do throws(PushFailure) {
            try await finish.run()
        } catch {
            if case .success = ending { ending = .failure(error) }
        }
        for item in notes.takeOpen() {
            report(item, ArchiveOutcome(result: .connectionLost, path: item.path, message: "It is not here."))
        }
        return ending
    }

    private func fetch(_ names: [ArchiveItem], to directory: PullDirectory) async -> Result<Void, PushFailure> {
        let files = state.withLock { state in names.compactMap { state.files[$0.path] } }
        do throws(PushFailure) {
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

    /// Tells what would be made.
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
    /// The directory, as far as it is there.
    fileprivate var present: PullDirectory? {
        switch self {
        case .directory(let directory): directory
        case .preview(let directory): directory
        }
    }
}
