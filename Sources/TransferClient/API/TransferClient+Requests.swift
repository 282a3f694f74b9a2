import Glibc
import TransferIO
import TransferModel
import TransferProtocol
import TransferPorts
import TransferStore
import TransferSystem

/// Listing, reading and pulling files of the server. Paths are below the folder of the server's address; slashes at
/// their ends are ignored, and an empty path, `.` or `/` is that folder itself.
extension TransferClient {
    /// Lists a folder, in the order in which the server finds its entries, without holding the list in memory.
    ///
    /// - Parameters:
    ///   - isRecursive: whether to list subfolders as well.
    ///   - wantsDetails: whether to ask for kind, digest and time of storing, which costs the server a little.
    ///   - unlisted: called, before the entries end, for each folder with names that cannot be part of a path. Older
    ///     servers do not report them.
    /// - Returns: the entries. They throw `TransferFailure`, `rejected` if there is no such folder.
    public func list(
        _ folder: String = "", isRecursive: Bool = false, wantsDetails: Bool = true,
        unlisted: (@Sendable (UnlistedNames) -> Void)? = nil
    ) -> RequestEvents<RemoteEntry> {
        list(folder, isRecursive: isRecursive, wantsDetails: wantsDetails, wantsAll: false, unlisted: unlisted)
    }

    /// - Parameter wantsAll: whether to ask for all attributes that the server keeps, and for symbolic links.
    func list(
        _ folder: String, isRecursive: Bool, wantsDetails: Bool, wantsAll: Bool,
        unlisted: (@Sendable (UnlistedNames) -> Void)?
    ) -> RequestEvents<RemoteEntry> {
        let events = EventQueue<RemoteEntry>()
        let queue = RequestQueue(needs: wantsAll ? [.files, .trees] : .files) { events.isFull }
        let shared = ListTaker.Shared(
            requestContext, queue, events, isRecursive: isRecursive, wantsDetails: wantsDetails, wantsAll: wantsAll,
            unlisted: unlisted)
        shared.ask(Self.clean(folder), isFirst: true)
        run(queue, events, resume: { queue.resume() }, failure: { shared.firstFailure })
        return RequestEvents(events)
    }

    /// Asks what exists at each path, without waiting for one answer before the next question.
    ///
    /// - Returns: one report for each path, in their order.
    public func stat(_ paths: [String]) -> RequestEvents<StatReport> {
        stat(paths, wantsAll: false)
    }

    /// - Parameter wantsAll: whether to ask for all attributes that the server keeps, and not to follow symbolic links.
    func stat(_ paths: [String], wantsAll: Bool) -> RequestEvents<StatReport> {
        let events = EventQueue<StatReport>()
        let queue = RequestQueue(needs: wantsAll ? [.files, .trees] : .files) { events.isFull }
        for path in paths.map(Self.clean) {
            queue.add(
                StatTaker(path, remote: requestContext.remote(path), queue, events, wantsAll: wantsAll).asked)
        }
        run(queue, events, resume: { queue.resume() })
        return RequestEvents(events)
    }

    /// Asks the server to decode stored pictures, and whether all of each could be decoded.
    ///
    /// - Parameter reports: of uploads that are stored. The client must have the right to read them.
    /// - Returns: one check for each report, with its index in `reports`, in any order. They throw `TransferFailure`,
    ///   `unsupported` if the server decodes no pictures.
    public func checkPictures(of reports: [UploadReport]) -> RequestEvents<(place: Int, check: PictureCheck)> {
        let events = EventQueue<(place: Int, check: PictureCheck)>()
        let queue = RequestQueue(needs: [.files, .pictures]) { events.isFull }
        for (place, report) in reports.enumerated() {
            queue.add(PictureTaker(place, report.storedPath ?? "", report.digest, queue, events).asked)
        }
        run(queue, events, resume: { queue.resume() })
        return RequestEvents(events)
    }

    /// Reads the content of one file.
    ///
    /// - Returns: the content in verified pieces of at most 4 MiB. They throw `TransferFailure`, `rejected` if there is
    ///   no such file or its content is damaged: then the content that came before is incomplete.
    public func read(_ path: String) -> RequestEvents<[UInt8]> {
        let events = EventQueue<[UInt8]>(limit: Self.blocksAhead)
        let queue = RequestQueue { events.isFull }
        let taker = ReadTaker(Self.clean(path), requestContext, queue) { part in
            if case .content(let bytes) = part { events.send(bytes) }
        }
        queue.add(taker.asked)
        run(queue, events, resume: { queue.resume() }, failure: { taker.failure })
        return RequestEvents(events)
    }

    /// Pulls files, and folders with everything in them, to a local directory. A file appears under its name only when
    /// it is complete, verified and durable. For a name that is taken, see `ClientConfiguration.conflict`. An
    /// interrupted long file is resumed.
    ///
    /// - Parameter directory: created if it is missing; a created one is removed again if the pull has put nothing into
    ///   it.
    /// - Returns: the events, which end when every file has its report. They throw `TransferFailure` if the directory
    ///   cannot be opened or the connection is lost for good.
    public func pull(_ paths: [String], to directory: String = ".") -> RequestEvents<PullEvent> {
        pull(paths.map { Download($0) }, to: directory)
    }

    /// Pulls files that get other names on this machine, or that patterns select.
    ///
    /// - Parameters:
    ///   - downloads: what to pull; the client takes the next element when there is room for it.
    ///   - isPreview: whether to report each file that would be fetched, without fetching or changing anything.
    public func pull(
        _ downloads: some Sequence<Download> & Sendable, to directory: String = ".", isPreview: Bool = false
    ) -> RequestEvents<PullEvent> {
        pull(downloads, to: directory, isPreview: isPreview, left: nil)
    }

    /// - Parameter left: called once, before the events end, with the files that have no report because the pull ended
    ///   early. It is not called if the pull did not begin.
    package func pull(
        _ downloads: some Sequence<Download> & Sendable, to directory: String, isPreview: Bool,
        left: (@Sendable ([PullRemainder]) -> Void)?
    ) -> RequestEvents<PullEvent> {
        let events = EventQueue<PullEvent>()
        let context = requestContext
        Task(executorPreference: context.loop) { [self] in
            let (isThere, ownPath) = await context.pool.run { [places] in
                (access(directory, F_OK) == 0, places?.path(ofTarget: directory))
            }
            let opened = await context.pool.run {
                Result { () throws(Failure) -> PullPlace in
                    isPreview
                        ? .preview(try PullDirectory(present: directory))
                        : .directory(try PullDirectory(path: directory))
                }
            }
            switch opened {
            case .failure(let error):
                events.finish(.failure(TransferFailure(reason: .rejected(error.code), message: error.message)))
            case .success(let place):
                let archive = context.configuration.archives ? PullArchive(self, place, events) : nil
                let plan = PullPlan(
                    context, downloads, place, events, archive: archive, ownPath: ownPath, left: left)
                // rmdir(2) removes only an empty directory.
                await run(plan, events) { if !isThere, !isPreview { rmdir(directory) } }
            }
        }
        return RequestEvents(events)
    }

    /// Pulls files whose entries are known, each to its `target`.
    func pull(_ files: [PullFile], to destination: PullDirectory) -> RequestEvents<PullEvent> {
        let events = EventQueue<PullEvent>()
        let context = requestContext
        let plan = PullPlan(context, fetching: files, destination, events)
        Task(executorPreference: context.loop) { [self] in await run(plan, events) }
        return RequestEvents(events)
    }

    /// - Parameter end: called on the pool after the pull.
    private func run(
        _ plan: PullPlan, _ events: EventQueue<PullEvent>, end: @escaping @Sendable () -> Void = {}
    ) async {
        let (place, pool, archive) = (plan.place, plan.context.pool, plan.archive)
        await converse(
            plan, events, resume: { plan.resume() },
            end: { result in
                let result = await archive?.finish(result) ?? result
                await pool.run {
                    place.tidy()
                    end()
                }
                return result
            })
    }

    /// The most blocks of a file that wait for the reader.
    static let blocksAhead = 4

    /// The path without empty components, `.`, and slashes at its ends.
    static func clean(_ path: String) -> String {
        let components = path.utf8.split(separator: UInt8(ascii: "/")).map { String(Substring($0)) }
        return components.filter { $0 != "." }.joined(separator: "/")
    }

    func run<Event>(
        _ plan: any RequestPlan, _ events: EventQueue<Event>, resume: @escaping @Sendable () -> Void,
        failure: @escaping @Sendable () -> TransferFailure? = { nil }
    ) {
        Task(executorPreference: requestContext.loop) { [self] in
            await converse(plan, events, resume: resume, failure: failure)
        }
    }

    /// - Parameters:
    ///   - resume: called when there is room for more events.
    ///   - failure: the reason why the request failed although the server answered everything; nil if it did not fail.
    ///   - end: called with the result for final work; returns the result to report.
    func converse<Event>(
        _ plan: any RequestPlan, _ events: EventQueue<Event>, resume: @escaping @Sendable () -> Void,
        failure: @escaping @Sendable () -> TransferFailure? = { nil },
        end: (Result<Void, TransferFailure>) async -> Result<Void, TransferFailure> = { $0 }
    ) async {
        let context = requestContext
        let run = RequestRun(context, plan)
        events.connect(
            onRoom: resume, onCancel: { Task(executorPreference: context.loop) { await run.cancel() } })
        var result = await end(await run.run())
        // A request that was stopped for a reason reports that reason.
        if result.mayHaveReason, let failure = failure() { result = .failure(failure) }
        events.finish(result)
        // The client must outlive the request, which runs on its loop.
        withExtendedLifetime(self) {}
    }
}

extension Result<Void, TransferFailure> {
    /// Whether a more precise reason may exist: the result is success or cancellation.
    fileprivate var mayHaveReason: Bool {
        switch self {
        case .success: true
        case .failure(let failure): failure.reason == .cancelled
        }
    }
}
