import TransferIO
import TransferModel
import TransferProtocol
import TransferSystem

/// Folders and names on the server. Each change is one step there, and on disk when it is reported. Paths are below the folder of
/// the server's address. A server that is too old for these gets `rejected`.
extension TransferClient {
    /// Makes folders, with those above them. One that is there already is no failure.
    ///
    /// - Returns: one report for each path, in their order.
    public func makeFolders(_ paths: [String]) -> RequestEvents<ChangeReport> {
        change(paths) { path in .make(MakeRequest(.directory, path: path)) }
    }

    /// Gives files and folders other paths, and makes the folders above these.
    ///
    /// - Parameters:
    ///   - moves: where each is, and where it is to be.
    ///   - replaces: whether a file that is there gives way to a file.
    /// - Returns: one report for each, in their order.
    public func move(
        _ moves: [(path: String, target: String)], replaces: Bool = false
    ) -> RequestEvents<ChangeReport> {
        let targets = moves.map { requestContext.remote(Self.clean($0.target)) }
        return change(moves.map(\.path)) { path, index in
            .move(MoveRequest(path: path, to: targets[index], replaces: replaces))
        }
    }

    /// Copies files on the server, where nothing of them travels; the content is shared where the server's file system can.
    ///
    /// - Parameters:
    ///   - copies: where each is, and where its copy is to be. Folders above that are made.
    ///   - replaces: whether a file that is there gives way.
    /// - Returns: one report for each, in their order, with the path of the copy.
    public func copy(
        _ copies: [(path: String, target: String)], replaces: Bool = false
    ) -> RequestEvents<ChangeReport> {
        let sources = copies.map { requestContext.remote(Self.clean($0.path)) }
        return change(copies.map(\.target)) { path, index in
            .make(MakeRequest(.copy, path: path, target: Array(sources[index].utf8), replaces: replaces))
        }
    }

    /// Copies files and symbolic links, and folders with all that the server keeps of them and of what is in them. Nothing of it
    /// travels.
    ///
    /// - Parameters:
    ///   - copies: where each is, and where its copy is to be. Folders above that are made.
    ///   - isRecursive: whether folders are copied; otherwise one is `wrongForm`.
    ///   - replaces: whether a file or link that is there gives way. A folder that is there stays, and gets more.
    ///   - unlisted: is told of each folder that has names which no path can have.
    /// - Returns: one report for each thing with the path of its copy, or its own where that is what is wrong. It throws
    ///   `TransferFailure`, `rejected` when a folder cannot be listed; then nothing is copied.
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

/// What is taken away on the server. Paths are below the folder of the server's address.
extension TransferClient {
    /// Removes files, and folders with all that is in them if that is wanted. What has its report is gone: for good, or to the
    /// trash, where it counts as one. The server's top folder is `invalidPath`: only what is in it can be removed.
    ///
    /// - Parameter keepsInTrash: whether it goes to the trash also where the server would not put it there.
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

    /// What a removal would come to before the server looks at any path.
    ///
    /// - Parameter keepsInTrash: as for `remove`.
    /// - Returns: why the server lets this client remove nothing, if it does not; and whether what is removed goes to the trash, as
    ///   far as the server says so.
    package func removalTerms(
        keepsInTrash: Bool
    ) async throws(TransferFailure) -> (refusal: RemovalReport?, goesToTrash: Bool) {
        let features = try await features(needs: keepsInTrash ? [.files, .trees] : .files)
        let goesToTrash = keepsInTrash || features.contains(.trashes)
        guard features.contains(.trees) else { return (nil, goesToTrash) }
        // Whoever may remove may see the trash, and nobody else.
        do throws(TransferFailure) {
            _ = try await trash()
            return (nil, goesToTrash)
        } catch {
            guard error.reason == .rejected(.forbidden) else { throw error }
            let message = "This client may not remove anything."
            return (RemovalReport(path: "", result: .forbidden, message: message), goesToTrash)
        }
    }

    /// Why a path cannot be removed, whatever it leads to; nothing for others.
    package func refusal(_ path: String) -> RemovalReport? {
        let path = Self.clean(path)
        guard requestContext.remote(path).isEmpty else { return nil }
        return RemovalReport(
            path: path, result: .invalidPath,
            message: "It is the top folder of the server, which cannot be removed; name what is in it.")
    }
}

/// What was removed on the server and is kept for a while. Paths are those that things had, below the folder of the server's
/// address.
extension TransferClient {
    /// What is in the trash, the newest first.
    ///
    /// - Throws: `TransferFailure`, as for a server that is too old to have one.
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

    /// Lists what was removed together, with all that is in folders: nothing where it has no such folder.
    public func list(_ batch: TrashedBatch, _ folder: String = "") -> RequestEvents<RemoteEntry> {
        listTrash(Self.clean(folder), .batch(batch.batch), isRecursive: true)
    }

    /// Whether something was removed together with others under a path. Nothing is there where a part of the path is a symbolic link
    /// in that part of the trash, or the path is none.
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

    /// Brings things back to the paths that they had. One that is taken by now is no success: `pathConflict`.
    ///
    /// - Parameter replaces: whether files and links that have the paths by now give way, to the trash where the server has one.
    /// - Returns: one report for each path, in their order.
    public func restore(
        _ paths: [String], from batch: TrashedBatch, replacing replaces: Bool = false
    ) -> RequestEvents<ChangeReport> {
        change(paths) { path, _ in
            .move(MoveRequest(path: path, to: path, replaces: replaces, trash: .batch(batch.batch)))
        }
    }

    /// Removes for good what is in some parts of the trash, as far as it is from the folder of the server's address.
    ///
    /// - Returns: one report for each, in their order, with its name as the path; `notFound` where it has nothing from there.
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
        // Most parts have nothing of most folders.
        shared.ask(folder, isFirst: place == .top)
        run(queue, events, resume: { queue.resume() }, failure: { shared.firstFailure })
        return RequestEvents(events)
    }
}

extension ResultCode {
    /// Whether a part of the trash has nothing under a path: also where something else is in the way, as a link that was removed.
    var isAbsenceInTrash: Bool { [.notFound, .invalidPath, .wrongForm].contains(self) }
}

/// A source was left where it is; nothing was removed.
public struct SourceKept: Error, Sendable, Equatable {
    /// Why; a sentence.
    public let reason: String

    /// Whether it is a directory with something in it, which has a report of its own or was not to be sent.
    public var isOccupied = false
}

extension TransferClient {
    /// Removes the file that was pushed. Only when the server has made durable exactly what the file holds and, asked again, says that
    /// it has it still under the same path; when it is still the same file with the same size and time of modification, and when it is
    /// not the stored file itself: the source may lie in the server's own directory, by whatever path. One that was not read for the
    /// push, because the server knew it, is read and compared before. What somebody has open for writing stays, as far as the kernel
    /// tells. Of an archive, symbolic links go as well, and directories when nothing is left in them.
    ///
    /// To be called behind everything that may replace what was stored.
    ///
    /// - Parameter report: of a push of this client.
    /// - Throws: `SourceKept`, and the file is left.
    public func removeSource(of report: UploadReport) async throws(SourceKept) {
        for result in await removeSources(of: [report]) { try result.get() }
    }

    /// The same for many, which costs little more than for one: the server is asked about many at once.
    ///
    /// - Returns: one result for each report, in their order.
    public func removeSources(of reports: [UploadReport]) async -> [Result<Void, SourceKept>] {
        var results: [Result<Void, SourceKept>] = []
        for start in stride(from: 0, to: reports.count, by: Self.uploadsAtOnce) {
            let some = reports[start..<min(start + Self.uploadsAtOnce, reports.count)]
            // Before there are witnesses: a second name of a stored file makes it one that the server has to read to know it.
            let stored = await lookUp(some)
            for start in stride(from: some.startIndex, to: some.endIndex, by: Self.sourcesAtOnce) {
                results += await remove(some[start..<min(start + Self.sourcesAtOnce, some.endIndex)], stored)
            }
        }
        return results
    }

    /// The key of names that a push gives back; nil where it gives none.
    var sweeps: WitnessKey? { requestContext.configuration.givesNamesBack ? sweptDirectories.key : nil }

    /// Looks at the file of a report for what picture it is, where it was not read for the push.
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

    /// Uploads that are looked up over one connection.
    private static let uploadsAtOnce = 4096

    /// Each holds a descriptor of its directory while the server is asked.
    private static let sourcesAtOnce = 256

    /// Seconds for which a lost connection is tried again: whoever waits can push again instead.
    private static let patience = 10.0

    /// - Parameter stored: what the server has said of their uploads.
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

    /// Asks whether the server has what it has acknowledged.
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

    /// Asks what the server sees of the witnesses.
    private func ask(about sources: [MarkedSource], _ stored: SourceAnswers) async -> SourceAnswers {
        guard !sources.isEmpty, stored.failure == nil else { return stored }
        var said = stored
        let events = EventQueue<StatReport>()
        // Everything is asked before anything is taken: there are few.
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
