import Glibc
import TransferIO
import TransferModel
import TransferProtocol
import TransferPorts
import TransferStore
import TransferSystem

/// The other direction: what a server has, and what may be done with it. Paths are below the folder of the server's address;
/// slashes at their ends mean nothing, and an empty path, `.` or `/` is that folder itself.
extension TransferClient {
    /// Lists a folder, in the order in which the server finds things. Nothing is held in memory.
    ///
    /// - Parameters:
    ///   - isRecursive: whether to list the folders in it as well.
    ///   - wantsDetails: whether kind, digest and time of storing are asked for, which costs the server a little.
    ///   - unlisted: is told of each folder that has names which no path can have, before the entries end. Older servers don't
    ///     say it.
    /// - Returns: the entries. It throws `TransferFailure`, `rejected` when there is no such folder.
    public func list(
        _ folder: String = "", isRecursive: Bool = false, wantsDetails: Bool = true,
        unlisted: (@Sendable (UnlistedNames) -> Void)? = nil
    ) -> RequestEvents<RemoteEntry> {
        list(folder, isRecursive: isRecursive, wantsDetails: wantsDetails, wantsAll: false, unlisted: unlisted)
    }

    /// - Parameter wantsAll: whether all that is kept is wanted, and symbolic links as well.
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

    /// Asks what there is under each path, all at once.
    ///
    /// - Returns: one report for each path, in their order.
    public func stat(_ paths: [String]) -> RequestEvents<StatReport> {
        stat(paths, wantsAll: false)
    }

    /// - Parameter wantsAll: whether all that is kept is wanted, and symbolic links themselves.
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

    /// Reads one file.
    ///
    /// - Returns: its content in pieces of up to 4 MiB, each verified. It throws `TransferFailure`, `rejected` when there is no
    ///   such file or its content is not what it should be: then what came before is not all of it.
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

    /// Pulls files, and folders with everything in them, to a directory of this machine. Each is there under its name when
    /// it is whole, verified and on disk, and not before. What has the name already stays: see
    /// `ClientConfiguration.conflict`. A long file that was interrupted goes on where it was.
    ///
    /// - Parameter directory: made where it is missing; one that was made goes again if nothing has come into it.
    /// - Returns: what happens, ending when every file has its report.
    public func pull(_ paths: [String], to directory: String = ".") -> RequestEvents<PullEvent> {
        pull(paths.map { Download($0) }, to: directory)
    }

    /// The same for what has other names here, or is found by a pattern.
    ///
    /// - Parameters:
    ///   - downloads: asked for the next when there is room for it.
    ///   - isPreview: whether nothing is to be fetched or changed here, and each file that would be fetched is told.
    public func pull(
        _ downloads: some Sequence<Download> & Sendable, to directory: String = ".", isPreview: Bool = false
    ) -> RequestEvents<PullEvent> {
        pull(downloads, to: directory, isPreview: isPreview, left: nil)
    }

    /// - Parameter left: called once, before the events end, with what has no report where the pull ends early. Not called where
    ///   it did not begin.
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
                // It takes no more than an empty one.
                await run(plan, events) { if !isThere, !isPreview { rmdir(directory) } }
            }
        }
        return RequestEvents(events)
    }

    /// Pulls files that are known to where each says.
    func pull(_ files: [PullFile], to destination: PullDirectory) -> RequestEvents<PullEvent> {
        let events = EventQueue<PullEvent>()
        let context = requestContext
        let plan = PullPlan(context, fetching: files, destination, events)
        Task(executorPreference: context.loop) { [self] in await run(plan, events) }
        return RequestEvents(events)
    }

    /// - Parameter end: what is left to do afterwards, on the pool.
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

    /// Blocks of a file that wait for whoever reads it.
    static let blocksAhead = 4

    /// A path without what means nothing in it.
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
    ///   - resume: to be called when there is room for more events.
    ///   - failure: why it is a failure though all was answered.
    ///   - end: what is left to do afterwards; gives what all has come to.
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
        // What has stopped it is why it has ended.
        if result.mayHaveReason, let failure = failure() { result = .failure(failure) }
        events.finish(result)
        // The client must outlive all this: its loop is what it runs on.
        withExtendedLifetime(self) {}
    }
}

extension Result<Void, TransferFailure> {
    /// Whether it is not known by itself what went wrong, if anything did.
    fileprivate var mayHaveReason: Bool {
        switch self {
        case .success: true
        case .failure(let failure): failure.reason == .cancelled
        }
    }
}
