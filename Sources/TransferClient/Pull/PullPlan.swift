import TransferModel
import TransferPorts
import TransferStore
import TransferSystem

/// The remaining work of a pull, shared by its connections: paths to ask about, folders to list, files to fetch.
final class PullPlan: RequestPlan {
    /// A piece of work that one connection takes.
    enum Item: Sendable {
        /// A path that the caller has named, of unknown kind.
        case operand(PullOperand)
        case folder(PullFolder)
        case file(PullFile)
        /// A range of a long file.
        case part(PullSplit, Range<UInt64>)
    }

    private struct State {
        var backlog: PullBacklog
        /// The number of items that were taken and are not done.
        var open = 0
        /// The number of connections that have asked for work.
        var lanes = 0
        /// The connection that has stopped reading a list.
        var waiting: ObjectIdentifier?
        var news: (@Sendable () -> Void)?

        var isOver: Bool { backlog.isEmpty && open == 0 }

        /// - Returns: the call that wakes the waiting connection; nil if none waits.
        mutating func endWaiting() -> (@Sendable () -> Void)? {
            waiting.take() == nil ? nil : news
        }
    }

    /// The number of waiting files at which a connection stops reading a list, as long as another one takes files. If
    /// all files are counted first, more may wait; each takes half a kilobyte.
    private let mostFiles: Int

    /// The number of waiting files that justify the handshake of another connection.
    private static let filesForLane = 64
    private static let partsForLane = 2

    let context: RequestContext
    let place: PullPlace
    let selection: Selection
    let events: any PullAudience
    /// The path on the server of the directory that is pulled to, which is not pulled; nil if it is not on the server.
    private let ownPath: String?
    /// Keeps folders, links and attributes; nil to fetch only files.
    let archive: PullArchive?
    private let counts: Bool
    private let rules: PathRules
    /// Receives the work that remains when the pull ends.
    private let left: (@Sendable ([PullRemainder]) -> Void)?
    private let state: Locked<State>

    init(
        _ context: RequestContext, _ downloads: some Sequence<Download> & Sendable, _ place: PullPlace,
        _ events: any PullAudience, archive: PullArchive? = nil, ownPath: String? = nil,
        left: (@Sendable ([PullRemainder]) -> Void)? = nil
    ) {
        (self.archive, self.ownPath) = (archive, ownPath)
        (self.context, self.place, self.events, self.left) = (context, place, events, left)
        selection = context.configuration.selection
        rules = PathRules(selection)
        counts = context.configuration.countsAhead
        mostFiles = counts ? 32_768 : 8192
        state = Locked(State(backlog: PullBacklog(downloads)))
    }

    /// Makes a plan that fetches files which were found before.
    init(
        _ context: RequestContext, fetching files: [PullFile], _ destination: PullDirectory, _ events: any PullAudience
    ) {
        (self.context, place, self.events, left) = (context, .directory(destination), events, nil)
        (archive, ownPath) = (nil, nil)
        (selection, rules, counts) = (Selection(), PathRules(Selection()), false)
        mostFiles = 8192
        state = Locked(State(backlog: PullBacklog()))
        add(files.map { .file($0) })
    }

    var isOver: Bool { state.withLock { $0.isOver } }

    /// Whether a connection may read on. A connection that receives a list waits while thousands of files wait for
    /// other connections. At most one connection waits, so that another one can always take the files.
    func mayRead(_ lane: PullLane, isList: Bool) -> Bool {
        guard !events.isFull else { return false }
        let name = ObjectIdentifier(lane)
        return state.withLock { state in
            if isList, state.waiting == nil, state.lanes > 1, state.backlog.fileCount >= mostFiles {
                state.waiting = name
            }
            return state.waiting != name
        }
    }

    /// The next item: files before folders, so that few files wait, unless all files are to be counted first.
    func next() -> Item? {
        let (item, news) = state.withLock { state -> (Item?, (@Sendable () -> Void)?) in
            let listsFirst = counts && state.backlog.fileCount < mostFiles
            guard let item = state.backlog.take(self, listsFirst: listsFirst) else { return (nil, nil) }
            state.open += 1
            return (item, state.backlog.fileCount <= mostFiles / 2 ? state.endWaiting() : nil)
        }
        news?()
        return item
    }

    /// Whether a folder on the server is the directory that is pulled to.
    ///
    /// - Parameter path: a path below the folder of the server's address.
    func isTarget(_ path: String) -> Bool { ownPath.map { context.remote(path).hasSameBytes(as: $0) } ?? false }

    /// Whether there is memory for more of a list.
    ///
    /// - Parameters:
    ///   - seen: the number of names of one folder that have arrived.
    ///   - new: the number that have just arrived.
    func hasRoom(seen: Int, new: Int) -> Bool {
        let most = ListBudget.entries(in: context.configuration.listMemory)
        return seen <= most && state.withLock { $0.backlog.waiting } + new <= most
    }

    /// Adds items that were found just now.
    func add(_ items: [Item]) {
        guard !items.isEmpty else { return }
        let news = state.withLock { state in
            for item in items { state.backlog.add(item) }
            return state.news
        }
        news?()
    }

    /// Notes that a taken item is done.
    func done() {
        let news = state.withLock { state -> (@Sendable () -> Void)? in
            state.open -= 1
            return state.isOver ? state.news : nil
        }
        news?()
    }

    /// Puts back a taken item that must be done again.
    func again(_ item: Item) {
        let news = state.withLock { state in
            state.open -= 1
            state.backlog.putBack(item)
            return state.news
        }
        news?()
    }

    func report(_ report: PullReport, of file: PullFile) {
        if archive?.holds(report, of: file) != true { events.send(.finished(report)) }
        done()
    }

    /// Requests a file again after a failure if that can help; otherwise reports it.
    func retry(_ file: PullFile, _ failure: Failure) {
        file.attempts += 1
        guard failure.code.isRetryable, file.attempts <= context.configuration.retries else {
            return report(file.report(failure.code, failure.message), of: file)
        }
        file.mustStartAnew = file.mustStartAnew || failure.code == .digestMismatch
        // A changed file must be asked about again. The content of a delivery cannot change.
        if file.delivery != nil { file.version = nil }
        again(file.delivery == nil && failure.code == .fileChanged ? .operand(PullOperand(file, self)) : .file(file))
    }

    func resume() {
        let news = state.withLock { $0.news }
        news?()
    }

    // MARK: RequestPlan

    func makeSource(isFirst: Bool) -> any RequestSource {
        switch place {
        case .directory(let directory): PullLane(self, directory)
        case .preview(let directory): PullPreview(self, directory)
        }
    }

    /// Counts a connection that asks for work for the first time.
    func laneBegan() { state.withLock { $0.lanes += 1 } }

    func laneEnded(_ name: ObjectIdentifier) {
        let news = state.withLock { state in
            state.lanes -= 1
            return state.waiting == name || state.lanes < 2 ? state.endWaiting() : nil
        }
        news?()
    }

    var wantsLane: Bool {
        let (count, bytes) = state.withLock { state in
            if state.backlog.parts.count >= Self.partsForLane { return (Self.filesForLane, UInt64(0)) }
            return (state.backlog.fileCount, state.backlog.bytes(of: 4))
        }
        return count >= Self.filesForLane || count >= 2 && bytes >= 32 << 20
    }

    func connect(_ news: @escaping @Sendable () -> Void) {
        state.withLock { $0.news = news }
    }

    func letGo() {
        let rest = state.withLock { state in
            defer { state = State(backlog: PullBacklog()) }
            return left == nil ? [] : state.backlog.takeRemainders()
        }
        left?(rest)
    }

    func connected() { events.send(.connected(server: context.server.description)) }

    func reconnecting(reason: String, after seconds: Double) {
        events.send(.reconnecting(reason: reason, after: seconds))
    }
}

// MARK: Selecting

extension PullPlan {
    /// Whether a file that the caller has named is wanted.
    func takes(named name: String, _ entry: RemoteEntry) -> Bool { rules.send(name) && selection.accepts(entry) }

    /// Whether a symbolic link that the caller has named is wanted.
    func takes(link name: String) -> Bool { rules.send(name) }

    /// The work for a file that was found.
    ///
    /// - Returns: nil if the file is refused, or is another name of a file that is fetched.
    func file(_ source: String, at target: RelativePath, _ entry: RemoteEntry) -> PullFile? {
        let file = PullFile(source: source, target: target, entry: entry)
        guard let archive else { return file }
        guard !entry.isPartial else {
            let untold = Failure.untoldAttributes
            refuse(file.report(untold.code, untold.message))
            return nil
        }
        return archive.takes(file) ? file : nil
    }

    /// Counts files that are not reported one by one.
    func count(_ files: Int, _ bytes: UInt64) {
        state.withLock { $0.backlog.count(files, bytes) }
    }

    /// Notes that an operand or folder is done and its wanted entries are known.
    func listed() {
        let count = state.withLock { state in
            state.backlog.listed()
            return counts && state.backlog.isListed ? state.backlog.count : nil
        }
        if let count { events.send(.counted(files: count.files + (archive?.count ?? 0), bytes: count.bytes)) }
        done()
    }

    /// Reports the failure of an operand or folder, which is then done.
    func fail(_ report: PullReport) {
        refuse(report)
        listed()
    }

    /// Reports a found entry that cannot be stored here.
    func refuse(_ report: PullReport) {
        count(1, report.size)
        events.send(.finished(report))
    }
}

/// The consumer of a pull's events. Called on the pool and on loops.
protocol PullAudience: Sendable {
    /// Whether the consumer is behind.
    var isFull: Bool { get }

    func send(_ event: PullEvent)
}

extension EventQueue<PullEvent>: PullAudience {}
