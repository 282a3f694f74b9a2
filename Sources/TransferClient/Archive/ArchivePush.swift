import TransferIO
import TransferModel
import TransferProtocol
import TransferPorts
import TransferStore
import TransferSystem

/// A push with `ClientConfiguration.archives`: it looks at both sides, creates folders, pushes the files like any push,
/// and then creates links, other names and attributes.
final class ArchivePush: Sendable {
    private struct State {
        /// The reports of files that existed already, held back until their attributes are set.
        var held: [ObjectIdentifier: UploadReport] = [:]
        /// Items for other names of files that exist on the server and have no receipt yet.
        var unreceipted: [ArchiveItem] = []
        var keeping = AttributeKeeping(owners: false, rights: .none)
        /// Folders on the server that were closed to their owner and were opened, each with its former attributes. A
        /// folder is removed from here when it has the attributes of the source.
        var opened: [RelativePath: SyncEntry] = [:]
        /// Whether the server has confirmed every change so far as durable.
        var isDurable = true
        var files: PushEvents?
    }

    private let client: TransferClient
    private let uploads: [Upload]
    private let channel: EventChannel
    private let notes: ArchiveNotes
    private let state = Locked(State())

    init(_ client: TransferClient, _ uploads: [Upload], _ channel: EventChannel) {
        (self.client, self.uploads, self.channel) = (client, uploads, channel)
        notes = ArchiveNotes(keepsEmptyFolders: client.requestContext.configuration.selection.takesEverything)
    }

    private var configuration: ClientConfiguration { client.requestContext.configuration }

    var leftOut: LeftOut { state.withLock { $0.files }?.leftOut ?? LeftOut() }

    func run() async {
        do throws(TransferFailure) {
            try await push()
            channel.finish(.success(()))
        } catch {
            channel.finish(.failure(error))
        }
    }

    private func push() async throws(TransferFailure) {
        let features = try await serverFeatures()
        let count = await look()
        if configuration.countsAhead { channel.send(.counted(files: count.files, bytes: count.bytes)) }
        let there = try await scan()
        let keepsOwners = features.contains(.owners)
        let keeping = AttributeKeeping(owners: keepsOwners, rights: .serving(isRoot: keepsOwners))
        state.withLock { $0.keeping = keeping }
        let sender = try client.sendingAll(keepsOwners: keepsOwners)
        var target = RemoteTarget(client: sender, keepsOwners: keepsOwners)
        target.answered = { [self] answer in
            if !answer.isDurable { state.withLock { $0.isDurable = false } }
        }
        let finish = finish(target, sender, keeping)
        do throws(TransferFailure) {
            try await prepare(finish, there)
            try await send(finish, sender)
        } catch {
            await closeFolders()
            throw error
        }
        await closeFolders()
    }

    private func send(_ finish: ArchiveFinish, _ sender: TransferClient) async throws(TransferFailure) {
        do throws(TransferFailure) {
            try await sendAll(sender)
            try await finish.run()
            try await fetchReceipts(sender)
        } catch {
            reportRest(error)
            throw error
        }
    }

    private func serverFeatures() async throws(TransferFailure) -> Features {
        do throws(TransferFailure) {
            return try await client.features(needs: [.files, .trees])
        } catch {
            guard error.reason == .unsupported else { throw error }
            throw TransferFailure(
                reason: .unsupported,
                message: "\(error.message) Without --archive the server accepts files, with their times. "
                    + "Nothing was sent.")
        }
    }
}

// MARK: Before files are sent

extension ArchivePush {
    /// Walks all uploads once, to learn which paths have to be compared with the server's.
    private func look() async -> (files: Int, bytes: UInt64) {
        let feed = UploadFeed(
            uploads, folder: client.server.folder, selection: configuration.selection,
            sweeps: client.sweeps, places: client.places, archive: notes)
        return await client.pool.run { [notes, channel] in
            var (files, bytes): (Int, UInt64) = (0, 0)
            while !channel.isCancelled, let item = feed.next() {
                files += 1
                guard case .upload(let upload) = item else { continue }
                bytes = bytes.addingClamped(upload.content.sizeNow ?? 0)
            }
            return (files + notes.count, bytes)
        }
    }

    /// Lists the server's entries at the paths of the uploads.
    ///
    /// - Returns: the entries, without those that this client may not see.
    /// - Throws: also `rejected(.incomplete)` if they take more memory than allowed.
    private func scan() async throws(TransferFailure) -> [RelativePath: SyncEntry] {
        let folders = Set(notes.folders.map(\.path))
        var (there, budget): ([RelativePath: SyncEntry], ListBudget) = ([:], client.listBudget)
        let tops = uploads.compactMap { (upload) -> String? in
            guard case .path(let path) = upload.source else { return nil }
            return (try? RelativePath(upload.name ?? UploadFeed.lastComponent(path)))?.string
        }
        guard !tops.isEmpty else { return [:] }
        do throws(TransferFailure) {
            for try await report in client.stat(tops, wantsAll: true) {
                guard let found = report.entry, let entry = SyncEntry(found) else { continue }
                try budget.hold(found)
                there[entry.path] = entry
            }
            let listed = Set(tops.compactMap { try? RelativePath($0) }).filter { there[$0]?.isFolder ?? false }
            guard !listed.isEmpty else { return there }
            let entries = client.listWhole(of: listed.map(\.string)) { folders.contains($0) }
            for try await found in entries {
                guard let entry = SyncEntry(found) else { continue }
                try budget.hold(found)
                there[entry.path] = entry
            }
        } catch {
            guard error.reason == .rejected(.forbidden) else { throw error }
        }
        return there
    }

    /// Opens folders that are closed to their owner, and creates missing ones, because files can be stored only in
    /// folders that exist and are open.
    private func prepare(
        _ finish: ArchiveFinish, _ there: [RelativePath: SyncEntry]
    ) async throws(TransferFailure) {
        let wanted = notes.folders.map(\.path)
        notes.compare(with: there)
        var seen: Set<RelativePath> = []
        // Open the outermost folder first: nothing inside a closed folder can be changed.
        let closed = wanted.filter { seen.insert($0).inserted }.compactMap { there[$0] }.filter(\.isClosed)
        for folder in closed {
            notes.touch(folder.path)
            state.withLock { $0.opened[folder.path] = folder }
        }
        try await finish.target.unlock(closed)
        try await finish.makeFolders()
        notes.restart()
    }

    /// Restores the permissions of folders that were opened and did not get their attributes. It tries to connect only
    /// once, because a server that could not be reached may stay away for a long time.
    private func closeFolders() async {
        // Inner folders first, which have longer paths: they can be reached only while the outer folder is open.
        let opened = state.withLock { $0.opened }.values.sorted {
            $0.path.string.utf8.count > $1.path.string.utf8.count
        }
        guard !opened.isEmpty, let client = try? client.askingOnce() else { return }
        let target = RemoteTarget(client: client, keepsOwners: false)
        // Use a separate task, because this one is cancelled if the push was.
        await Task(executorPreference: client.requestContext.loop) { try? await target.lock(opened) }.value
    }
}

// MARK: Files

extension ArchivePush {
    private func sendAll(_ sender: TransferClient) async throws(TransferFailure) {
        let events = sender.push(uploads, archive: notes)
        state.withLock { $0.files = events }
        try await tell(events)
    }

    /// Sends files under their second names. The selection rules are not applied again: they have selected these names
    /// before.
    private func send(
        _ names: [ArchiveItem], as form: EntryForm, _ sender: TransferClient
    ) async throws(TransferFailure) {
        guard !names.isEmpty else { return }
        try await tell(try sender.choosingNothing().push(names.map(\.upload)), as: form)
    }

    private func tell(_ events: PushEvents, as form: EntryForm = .file) async throws(TransferFailure) {
        for try await event in events {
            guard case .finished(var report) = event else {
                channel.send(event)
                continue
            }
            report.form = form == .file ? report.form : form
            if let report = form == .file ? await kept(report) : report { channel.send(.finished(report)) }
        }
    }

    /// Notes where a file is stored.
    ///
    /// - Returns: the report to send; nil if the file existed already and its attributes must be set first.
    private func kept(_ report: UploadReport) async -> UploadReport? {
        guard let asked = report.destination.flatMap(path) else { return report }
        guard let stored = report.storedPath.flatMap(path), report.result.isSuccess else {
            notes.failed(asked, report.result)
            return report
        }
        let isNew = report.result == .committed
        notes.placed(
            asked, ArchiveNotes.Stored(path: stored, size: report.size, digest: report.digest, isNew: isNew))
        guard !isNew, report.isPath, let file = report.file, let place = report.place else { return report }
        let keeping = state.withLock { $0.keeping }
        return await client.pool.run { [self] in
            do throws(Failure) {
                let entry = try SyncEntry.file(at: place, as: stored, file)
                let item = ArchiveItem(.file, report.source, at: place, entry, there: notes.there(stored))
                if let there = item.there, !entry.differs(from: there, keeping) {
                    return report
                }
                state.withLock { $0.held[ObjectIdentifier(item)] = report }
                notes.add(item)
                return nil
            } catch {
                return report.failing(error.code, error.message)
            }
        }
    }

    /// The path of a report, relative to the folder of the server's address; nil if the path is not in that folder.
    private func path(_ text: String) -> RelativePath? {
        let folder = client.server.folder
        guard !folder.isEmpty else { return try? RelativePath(text) }
        return (try? RelativePath(text)).flatMap { path in
            (try? RelativePath(folder)).flatMap { path.below($0) }
        }
    }
}

// MARK: Links, names and attributes

extension ArchivePush {
    private func finish(
        _ target: RemoteTarget, _ sender: TransferClient, _ keeping: AttributeKeeping
    ) -> ArchiveFinish {
        ArchiveFinish(
            target: target, notes: notes, conflict: configuration.conflict, keeping: keeping,
            asksForAll: true,
            hasContent: { there, file in
                there.digest != nil && there.digest == file.digest && there.size == file.size
            },
            take: { [self] names in
                do throws(TransferFailure) {
                    return .success(try await send(names, as: .file, sender))
                } catch {
                    return .failure(error)
                }
            },
            report: { [self] item, outcome in report(item, outcome) })
    }

    private func report(_ item: ArchiveItem, _ outcome: ArchiveOutcome) {
        if item.form == .folder, outcome.result.isSuccess { state.withLock { $0.opened[item.path] = nil } }
        if item.form == .hardLink, configuration.wantsReceipts, outcome.result.isSuccess, outcome.result != .skipped {
            return state.withLock { $0.unreceipted.append(item.at(outcome.path)) }
        }
        let (held, isDurable) = state.withLock { ($0.held[ObjectIdentifier(item)], $0.isDurable) }
        guard var report = held else {
            return channel.send(
                .finished(self.report(item, outcome, isDurable: isDurable && outcome.isAsked)))
        }
        if outcome.result.isSuccess {
            (report.hasNewAttributes, report.isDurable) = (outcome.hasNewAttributes, report.isDurable && isDurable)
        } else {
            report = report.failing(outcome.result, outcome.message)
        }
        channel.send(.finished(report))
    }

    private func report(_ item: ArchiveItem, _ outcome: ArchiveOutcome, isDurable: Bool) -> UploadReport {
        var report = UploadReport(
            source: item.source, uploadID: .none, result: outcome.result, kind: .file, size: item.entry.size,
            message: outcome.message)
        let isThere = outcome.result == .committed || outcome.result == .alreadyStored
        if isThere { report.storedPath = client.requestContext.remote(outcome.path.string) }
        if isThere, case .stored(let first) = notes.first(of: item.entry.named) { report.digest = first.digest }
        (report.form, report.isPath, report.isNamed) = (item.form, true, item.isNamed)
        report.destination = client.requestContext.remote(item.path.string)
        report.isDurable = isThere && isDurable
        report.hasNewAttributes = outcome.hasNewAttributes
        if case .link(let target) = item.entry.form {
            report.link = SentLink(target: target, modified: item.entry.modified)
        }
        report.place = item.place
        if item.form == .hardLink { report.file = item.place?.identity }
        return report
    }

    /// Uploads other names of files again for their receipts, because only an upload has a receipt.
    private func fetchReceipts(_ sender: TransferClient) async throws(TransferFailure) {
        let names = state.withLock { state in
            defer { state.unreceipted = [] }
            return state.unreceipted
        }
        try await send(names, as: .hardLink, sender)
    }

    /// Reports all items without a report as not acknowledged.
    private func reportRest(_ failure: TransferFailure) {
        let result: ResultCode = failure.reason == .cancelled ? .cancelled : .connectionLost
        let message =
            failure.reason == .cancelled ? "Stopped before it was acknowledged." : Failure.connectionLost.message
        for item in notes.takeOpen() + state.withLock({ $0.unreceipted }) {
            report(item, ArchiveOutcome(result: result, path: item.path, message: message))
        }
    }
}

extension ArchiveItem {
    /// The upload that sends the item as a file.
    fileprivate var upload: Upload {
        place.map { Upload(at: $0, name: path.string) } ?? Upload.path(source, name: path.string)
    }

    fileprivate func at(_ path: RelativePath) -> ArchiveItem {
        ArchiveItem(form, source, at: place, entry.at(path), there: there, isNamed: isNamed)
    }
}

extension UploadReport {
    /// The report of a stored file whose attributes could not be set.
    fileprivate func failing(_ code: ResultCode, _ message: String) -> UploadReport {
        var report = self
        (report.result, report.message, report.storedPath, report.receipt) = (code, message, nil, nil)
        return report
    }
}

extension TransferClient {
    /// A client with the same settings that keeps all attributes of files, but does not start another archive.
    fileprivate func sendingAll(keepsOwners: Bool) throws(TransferFailure) -> TransferClient {
        var configuration = requestContext.configuration
        (configuration.archives, configuration.countsAhead, configuration.asksByFolder) = (false, false, false)
        configuration.kept = .init(owners: keepsOwners)
        return try TransferClient(server: server, configuration: configuration)
    }

    /// A client with the same settings that tries to connect only once.
    fileprivate func askingOnce() throws(TransferFailure) -> TransferClient {
        var configuration = requestContext.configuration
        (configuration.retryFor, configuration.retriesFirstConnection) = (0, false)
        return try TransferClient(server: server, configuration: configuration)
    }

    fileprivate func choosingNothing() throws(TransferFailure) -> TransferClient {
        var configuration = requestContext.configuration
        configuration.selection = Selection()
        return try TransferClient(server: server, configuration: configuration)
    }
}
