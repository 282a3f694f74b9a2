import TransferModel
import TransferPorts
import TransferStore
import TransferSystem

/// What a pull has still to do, shared by its connections: paths to be looked at, folders to be listed, files to be fetched.
final class PullPlan: RequestPlan {
    /// Something on the server, and where what is in it goes.
    enum Item: Sendable {
        /// What the caller has named: nobody knows yet what it is.
        case operand(PullOperand)
        case folder(PullFolder)
        case file(PullFile)
        /// Some of a long one.
        case part(PullSplit, Range<UInt64>)
    }

    private struct State {
        var backlog: PullBacklog
        /// Taken out and not over.
        var open = 0
        /// Connections that have asked for something to do.
        var lanes = 0
        /// The one of them that reads no further.
        var waiting: ObjectIdentifier?
        var news: (@Sendable () -> Void)?

        var isOver: Bool { backlog.isEmpty && open == 0 }

        /// - Returns: what is to be called, when somebody waits.
        mutating func endWaiting() -> (@Sendable () -> Void)? {
            waiting.take() == nil ? nil : news
        }
    }

    /// Files that wait before a list is read no further, as long as another connection takes them. Where all are to be counted
    /// first, more may wait: half a kilobyte each.
    private let mostFiles: Int

    /// Files for which another connection is worth its handshake.
    private static let filesForLane = 64
    private static let partsForLane = 2

    let context: RequestContext
    let place: PullPlace
    let selection: Selection
    let events: any PullAudience
    /// The path on the server of the directory that is pulled to, which is not pulled; nil where it has none.
    private let ownPath: String?
    /// Takes what is kept beside files; nothing where they are all that is fetched.
    let archive: PullArchive?
    private let counts: Bool
    private let rules: PathRules
    /// Is told of what was not done when the pull ended.
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

    /// For files that are known.
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

    /// Whether a connection is to read on. One to which a list comes waits while thousands of files do that others can
    /// take; never more than one does, so that there is always another.
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

    /// The next thing to do: files first, so that few wait.
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
    /// - Parameter path: below the folder of the server's address.
    func isTarget(_ path: String) -> Bool { ownPath.map { context.remote(path).hasSameBytes(as: $0) } ?? false }

    /// Whether more of a list can be held.
    ///
    /// - Parameters:
    ///   - seen: names of one folder that have come so far.
    ///   - new: how many of them have just come.
    func hasRoom(seen: Int, new: Int) -> Bool {
        let most = ListBudget.entries(in: context.configuration.listMemory)
        return seen <= most && state.withLock { $0.backlog.waiting } + new <= most
    }

    /// What was not known before.
    func add(_ items: [Item]) {
        guard !items.isEmpty else { return }
        let news = state.withLock { state in
            for item in items { state.backlog.add(item) }
            return state.news
        }
        news?()
    }

    /// Something that was taken out is done.
    func done() {
        let news = state.withLock { state -> (@Sendable () -> Void)? in
            state.open -= 1
            return state.isOver ? state.news : nil
        }
        news?()
    }

    /// Something that was taken out has to be done again.
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

    /// A file did not come: it is asked for again where that can help, and otherwise reported.
    func retry(_ file: PullFile, _ failure: Failure) {
        file.attempts += 1
        guard failure.code.isRetryable, file.attempts <= context.configuration.retries else {
            return report(file.report(failure.code, failure.message), of: file)
        }
        file.mustStartAnew = file.mustStartAnew || failure.code == .digestMismatch
        // What has changed has to be looked at anew; what a delivery is has been said for good.
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

    /// A connection is there and has nothing to do yet.
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

// MARK: What is wanted

extension PullPlan {
    /// Whether a file is wanted that was named itself.
    func takes(named name: String, _ entry: RemoteEntry) -> Bool { rules.send(name) && selection.accepts(entry) }

    /// Whether a symbolic link is wanted that was named itself.
    func takes(link name: String) -> Bool { rules.send(name) }

    /// A file that was found.
    ///
    /// - Returns: nothing for one that is there by another name, or will be.
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

    /// Counts files of which nobody is told one by one.
    func count(_ files: Int, _ bytes: UInt64) {
        state.withLock { $0.backlog.count(files, bytes) }
    }

    /// It is known what is wanted of something that was named, or of a folder, which is done.
    func listed() {
        let count = state.withLock { state in
            state.backlog.listed()
            return counts && state.backlog.isListed ? state.backlog.count : nil
        }
        if let count { events.send(.counted(files: count.files + (archive?.count ?? 0), bytes: count.bytes)) }
        done()
    }

    /// Something that was named, or a folder, is of no use.
    func fail(_ report: PullReport) {
        refuse(report)
        listed()
    }

    /// Something that was found cannot be here.
    func refuse(_ report: PullReport) {
        count(1, report.size)
        events.send(.finished(report))
    }
}

/// Whoever is told of what happens during a pull. Called on the pool and on loops.
protocol PullAudience: Sendable {
    /// Whether it is behind.
    var isFull: Bool { get }

    func send(_ event: PullEvent)
}

extension EventQueue<PullEvent>: PullAudience {}
