import TransferIO
import TransferModel
import TransferProtocol
import TransferSystem

/// Creating, moving and copying folders and files on the server. The server makes each change in one atomic step, and
/// the change is durable when it is reported. Paths are below the folder of the server's address. The events throw
/// `TransferFailure`, `unsupported` if the server is too old.
extension TransferClient {
    /// Creates folders and their parent folders. A folder that exists already is not an error.
    ///
    /// - Returns: one report for each path, in the order of `paths`.
    public func makeFolders(_ paths: [String]) -> RequestEvents<ChangeReport> {
        change(paths) { path in .make(MakeRequest(.directory, path: path)) }
    }

    /// Moves files and folders to new paths, and creates the parent folders of the new paths.
    ///
    /// - Parameters:
    ///   - moves: the old and the new path of each entry.
    ///   - replaces: whether a file replaces another file at its new path.
    /// - Returns: one report for each move, in their order.
    public func move(
        _ moves: [(path: String, target: String)], replaces: Bool = false
    ) -> RequestEvents<ChangeReport> {
        let targets = moves.map { requestContext.remote(Self.clean($0.target)) }
        return change(moves.map(\.path)) { path, index in
            .move(MoveRequest(path: path, to: targets[index], replaces: replaces))
        }
    }

    /// Copies files on the server, without sending their content; the copies share content if the server's file system
    /// can.
    ///
    /// - Parameters:
    ///   - copies: the path of each file and the path of the copy, whose parent folders are created.
    ///   - replaces: whether the copy replaces a file at its path.
    /// - Returns: one report for each copy, in their order, with the path of the copy.
    public func copy(
        _ copies: [(path: String, target: String)], replaces: Bool = false
    ) -> RequestEvents<ChangeReport> {
        let sources = copies.map { requestContext.remote(Self.clean($0.path)) }
        return change(copies.map(\.target)) { path, index in
            .make(MakeRequest(.copy, path: path, target: Array(sources[index].utf8), replaces: replaces))
        }
    }

    /// Copies files, symbolic links, and folders with their contents and all attributes that the server keeps. No
    /// content is sent.
    ///
    /// - Parameters:
    ///   - copies: the path of each entry and the path of the copy, whose parent folders are created.
    ///   - isRecursive: whether folders are copied; otherwise a folder is reported as `wrongForm`.
    ///   - replaces: whether copies replace files and links at their paths. An existing folder stays, and the contents
    ///     of the copied folder are added to it.
    ///   - unlisted: called for each folder with names that cannot be part of a path.
    /// - Returns: one report for each entry, with the path of the copy, or with the path of the source if the error
    ///   concerns the source. The sequence throws `TransferFailure`: `rejected` if a folder cannot be listed; then no
    ///   file is copied.
    package func copyTrees(
        _ copies: [(path: String, target: String)], isRecursive: Bool, replaces: Bool = false,
        unlisted: @escaping @Sendable (UnlistedNames) -> Void = { _ in }
    ) -> RequestEvents<ChangeReport> {
        let events = EventQueue<ChangeReport>()
        let copy = TreeCopy(client: self, isRecursive: isRecursive, replaces: replaces, unlisted: unlisted) {
            events.send($0)
        }
        let work = Task {
            let result: Result<Void, TransferFailure>
            do throws(TransferFailure) {
                result = .success(try await copy.run(copies))
            } catch {
                result = .failure(error)
            }
            events.finish(result)
        }
        events.connect(onRoom: {}, onCancel: { work.cancel() })
        return RequestEvents(events)
    }

    private func change(_ paths: [String], _ request: (String) -> Request) -> RequestEvents<ChangeReport> {
        change(paths) { path, _ in request(path) }
    }

    func change(_ paths: [String], _ request: (String, Int) -> Request) -> RequestEvents<ChangeReport> {
        let events = EventQueue<ChangeReport>()
        let queue = RequestQueue(needs: [.files, .trees]) { events.isFull }
        for (index, path) in paths.map(Self.clean).enumerated() {
            queue.add(ChangeTaker(path, request(requestContext.remote(path), index), queue, events).asked)
        }
        run(queue, events, resume: { queue.resume() })
        return RequestEvents(events)
    }
}

/// Removing entries on the server. Paths are below the folder of the server's address.
extension TransferClient {
    /// Removes files, and with `isRecursive` also folders with their contents. An entry with a successful report was
    /// removed for good, or was moved to the trash, where even a folder counts as one entry. The server's top folder is
    /// reported as `invalidPath`, because it cannot be removed.
    ///
    /// - Parameter keepsInTrash: whether entries go to the trash even if the server would remove them for good.
    /// - Returns: one report for each path.
    public func remove(
        _ paths: [String], isRecursive: Bool = false, keepsInTrash: Bool = false
    ) -> RequestEvents<RemovalReport> {
        let requests = paths.map(Self.clean).map { path in
            let remote = requestContext.remote(path)
            return (path, RemoveRequest(path: remote, isRecursive: isRecursive, keepsInTrash: keepsInTrash))
        }
        return remove(requests, needs: keepsInTrash ? [.files, .trees] : .files)
    }

    func remove(
        _ requests: [(path: String, request: RemoveRequest)], needs: Features
    ) -> RequestEvents<RemovalReport> {
        let events = EventQueue<RemovalReport>()
        let queue = RequestQueue(needs: needs) { events.isFull }
        for (path, request) in requests {
            if request.trash == nil, let refusal = refusal(path) {
                events.send(refusal)
            } else {
                queue.add(RemovalTaker(path, request, requestContext, queue, events).asked)
            }
        }
        run(queue, events, resume: { queue.resume() })
        return RequestEvents(events)
    }

    /// Asks whether this client may remove entries and where they would go, before any path is named to the server.
    ///
    /// - Parameter keepsInTrash: as for `remove`.
    /// - Returns: the refusal if the server lets this client remove nothing, otherwise nil; and whether removed entries
    ///   go to the trash, as far as the server says.
    package func removalTerms(
        keepsInTrash: Bool
    ) async throws(TransferFailure) -> (refusal: RemovalReport?, goesToTrash: Bool) {
        let features = try await features(needs: keepsInTrash ? [.files, .trees] : .files)
        let goesToTrash = keepsInTrash || features.contains(.trashes)
        guard features.contains(.trees) else { return (nil, goesToTrash) }
        // A client may list the trash if and only if it may remove entries.
        do throws(TransferFailure) {
            _ = try await trash()
            return (nil, goesToTrash)
        } catch {
            guard error.reason == .rejected(.forbidden) else { throw error }
            let message =
                "This client may not remove or change files: its access does not include the right to remove."
            return (RemovalReport(path: "", result: .forbidden, message: message), goesToTrash)
        }
    }

    /// A report that refuses to remove a path, whatever exists there; nil for paths that may be removed.
    package func refusal(_ path: String) -> RemovalReport? {
        let path = Self.clean(path)
        guard requestContext.remote(path).isEmpty else { return nil }
        return RemovalReport(
            path: path, result: .invalidPath,
            message: "It is the top folder of the server, which cannot be removed; name the files and folders in it.")
    }
}

/// The server's trash. Paths are the former paths of the entries, below the folder of the server's address.
extension TransferClient {
    /// Lists the batches in the trash, the newest first.
    ///
    /// - Throws: `TransferFailure`: `unsupported` if the server is too old for a trash, `rejected` if the client may
    ///   not see it.
    public func trash() async throws(TransferFailure) -> [TrashedBatch] {
        let folder = Self.clean(requestContext.server.folder)
        do throws(RelativePath.Fault) {
            if !folder.isEmpty { _ = try RelativePath(folder) }
        } catch {
            throw TransferFailure(reason: .rejected(.invalidPath), message: error.message)
        }
        var (found, budget): ([TrashedBatch], ListBudget) = ([], listBudget)
        for try await entry in listTrash("", .top, isRecursive: false) {
            try budget.hold(entry)
            if let batch = TrashBatch(entry.path) { found.append(TrashedBatch(batch)) }
        }
        return found.sorted { $0.name > $1.name }
    }

    /// Lists a folder of one batch with everything in it; no entries if the batch has no such folder.
    public func list(_ batch: TrashedBatch, _ folder: String = "") -> RequestEvents<RemoteEntry> {
        listTrash(Self.clean(folder), .batch(batch.batch), isRecursive: true)
    }

    /// Asks whether a batch of the trash has an entry at a path. The answer is false if a component of the path is a
    /// symbolic link in the batch, or if the path is invalid.
    public func has(_ path: String, in batch: TrashedBatch) async throws(TransferFailure) -> Bool {
        let events = EventQueue<StatReport>()
        let queue = RequestQueue(needs: [.files, .trees]) { events.isFull }
        let path = Self.clean(path)
        queue.add(
            StatTaker(
                path, remote: requestContext.remote(path), queue, events, trash: .batch(batch.batch), wantsAll: true
            ).asked)
        run(queue, events, resume: { queue.resume() })
        for try await report in RequestEvents(events) {
            guard report.entry == nil, !report.result.isAbsenceInTrash else {
                return report.entry != nil
            }
            throw TransferFailure(reason: .rejected(report.result), message: report.message)
        }
        return false
    }

    /// Moves entries from the trash to the paths that they had. If another entry has the path now, the result is
    /// `pathConflict`.
    ///
    /// - Parameter replaces: whether an entry replaces a file or link that now has its path. The replaced file or link
    ///   goes to the trash if the server has one.
    /// - Returns: one report for each path, in the order of `paths`.
    public func restore(
        _ paths: [String], from batch: TrashedBatch, replacing replaces: Bool = false
    ) -> RequestEvents<ChangeReport> {
        change(paths) { path, _ in
            .move(MoveRequest(path: path, to: path, replaces: replaces, trash: .batch(batch.batch)))
        }
    }

    /// Removes the contents of batches of the trash for good, as far as they come from the folder of the server's
    /// address.
    ///
    /// - Returns: one report for each batch, in their order, with its name as the path; `notFound` if it has nothing
    ///   from that folder.
    public func empty(_ batches: [TrashedBatch]) -> RequestEvents<RemovalReport> {
        remove(
            batches.map { batch in
                let folder = requestContext.remote("")
                return (batch.name, RemoveRequest(path: folder, isRecursive: true, trash: .batch(batch.batch)))
            }, needs: [.files, .trees])
    }

    private func listTrash(_ folder: String, _ place: TrashPlace, isRecursive: Bool) -> RequestEvents<RemoteEntry> {
        let events = EventQueue<RemoteEntry>()
        let queue = RequestQueue(needs: [.files, .trees]) { events.isFull }
        let shared = ListTaker.Shared(
            requestContext, queue, events, isRecursive: isRecursive, wantsDetails: false, wantsAll: isRecursive,
            trash: place)
        // Most batches contain nothing from a given folder, so a missing folder is an error only for the list of
        // batches.
        shared.ask(folder, isFirst: place == .top)
        run(queue, events, resume: { queue.resume() }, failure: { shared.firstFailure })
        return RequestEvents(events)
    }
}

extension ResultCode {
    /// Whether the result means that a batch has no entry at a path. This includes results for a path that another
    /// entry blocks, such as a removed link.
    var isAbsenceInTrash: Bool { [.notFound, .invalidPath, .wrongForm].contains(self) }
}

/// The reason why a source was not removed.
public struct SourceKept: Error, Sendable, Equatable {
    /// A sentence for the user with the reason.
    public let reason: String

    /// Whether the source is a directory that still has entries. They have separate reports, or were not to be sent.
    public var isOccupied = false
}

extension TransferClient {
    /// Removes the source of a pushed file once the server has a durable copy.
    ///
    /// The file is removed only if all of this is true: the server has acknowledged exactly this content as durable,
    /// and confirms when it is asked again that it still has the content under the same path; the source is still the
    /// same file with the same size and time of modification; the source is not the stored file itself, which is
    /// possible if it lies in the server's own directory, whatever path leads there; and no process has the source open
    /// for writing, as far as the kernel reports that. A file that the push did not read, because the server knew it,
    /// is read and compared first. After a push with `archives`, symbolic links are removed as well, and directories
    /// when they are empty.
    ///
    /// Call this function after everything that can replace the stored file.
    ///
    /// - Parameter report: a report of a push of this client.
    /// - Throws: `SourceKept` if the source was not removed.
    public func removeSource(of report: UploadReport) async throws(SourceKept) {
        for result in await removeSources(of: [report]) { try result.get() }
    }

    /// Removes the sources of many reports, under the conditions of `removeSource(of:)`. Many removals cost little more
    /// than one, because one connection asks about many sources.
    ///
    /// - Returns: one result for each report, in the order of `reports`.
    public func removeSources(of reports: [UploadReport]) async -> [Result<Void, SourceKept>] {
        var results: [Result<Void, SourceKept>] = []
        for start in stride(from: 0, to: reports.count, by: Self.uploadsAtOnce) {
            let some = reports[start..<min(start + Self.uploadsAtOnce, reports.count)]
            // Look up the uploads before witnesses are made. A witness is a second name; if it belongs to a stored
            // file, the server would have to read that file to recognize it.
            let stored = await lookUp(some)
            for start in stride(from: some.startIndex, to: some.endIndex, by: Self.sourcesAtOnce) {
                results += await remove(some[start..<min(start + Self.sourcesAtOnce, some.endIndex)], stored)
            }
        }
        return results
    }

    /// The key with which a push recognizes the temporary names that it changes back; nil if it changes none back.
    var sweeps: WitnessKey? { requestContext.configuration.givesNamesBack ? sweptDirectories.key : nil }

    /// The format and dimensions of a pushed picture, read from its file if the push did not read it; nil if it is no
    /// picture or has changed.
    public func picture(of report: UploadReport) async -> Picture? {
        guard report.picture == nil, report.kind == .picture, report.isPath else { return report.picture }
        return await pool.run {
            let place = report.place ?? SourcePlace(named: report.source, followsLink: true)
            guard let file = try? SourceFile(place), file.identity == report.file
            else {
                return nil
            }
            return Picture(ContentReader(file))
        }
    }

    /// The number of uploads that are looked up over one connection.
    private static let uploadsAtOnce = 4096

    /// The number of sources that the client asks about together. Each keeps a descriptor of a directory open
    /// meanwhile.
    private static let sourcesAtOnce = 256

    /// Seconds for which a lost connection is retried; short, because the user waits and can push again instead.
    private static let patience = 10.0

    /// - Parameter stored: the server's answers about the uploads of these reports.
    private func remove(
        _ reports: ArraySlice<UploadReport>, _ stored: SourceAnswers
    ) async -> [Result<Void, SourceKept>] {
        let replaces = requestContext.configuration.conflict == .overwrite
        let marked = await pool.run { [sweptDirectories] in
            var directories = SourceDirectories(swept: sweptDirectories)
            return reports.map { report in
                Result { () throws(SourceKept) in
                    try MarkedSource(report, mayHaveReplaced: replaces, &directories)
                }
            }
        }
        let said = await ask(about: marked.compactMap { try? $0.get() }, stored)
        return await pool.run {
            marked.map { marked in
                marked.flatMap { source in Result { () throws(SourceKept) in try source.remove(said) } }
            }
        }
    }

    /// Asks whether the server still has the acknowledged uploads.
    private func lookUp(_ reports: ArraySlice<UploadReport>) async -> SourceAnswers {
        var said = SourceAnswers()
        for (digest, reports) in Dictionary(grouping: reports, by: \.digest?.algorithm) {
            let ids = reports.compactMap(MarkedSource.lookedUp)
            guard let digest, let lookup = UploadLookup(ids, digest.function) else { continue }
            let queue = RequestQueue(lookup: lookup)
            if case .failure(let failure) = await RequestRun(requestContext.trying(for: Self.patience), queue).run() {
                said.failure = failure
            }
            said.uploads.merge(queue.found) { _, last in last }
        }
        return said
    }

    /// Asks the server whether it sees the witnesses beside the stored files.
    private func ask(about sources: [MarkedSource], _ stored: SourceAnswers) async -> SourceAnswers {
        guard !sources.isEmpty, stored.failure == nil else { return stored }
        var said = stored
        let events = EventQueue<StatReport>()
        // The queue has no limit, because there are few questions and all are asked before any answer is taken.
        let queue = RequestQueue()
        for source in sources { source.ask(queue, events) }
        events.finish(await RequestRun(requestContext.trying(for: Self.patience), queue).run())
        do throws(TransferFailure) {
            while let report = try await events.next() { said.paths[PathKey(report.path)] = report }
        } catch {
            said.failure = error
        }
        return said
    }
}
