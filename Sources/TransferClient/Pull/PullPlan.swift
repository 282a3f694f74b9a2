import TransferModel
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

    fileprivate struct State {
        var operands: [PullOperand] = []
        var firstOperand = 0
        var folders: [PullFolder] = []
        var files: [PullFile] = []
        var firstFile = 0
        /// Parts of long files; those come first, so that few are under way.
        var parts: [(split: PullSplit, range: Range<UInt64>)] = []
        /// Taken out and not over.
        var open = 0
        /// Connections that have asked for something to do.
        var lanes = 0
        /// The one of them that reads no further.
        var waiting: ObjectIdentifier?
        var news: (@Sendable () -> Void)?

        var fileCount: Int { files.count - firstFile }
        var isEmpty: Bool { firstOperand == operands.count && folders.isEmpty && fileCount == 0 && parts.isEmpty }
    }

    /// Files that wait before a list is read no further, as long as another connection takes them.
    private static let mostFiles = 8192

    /// Files for which another connection is worth its handshake.
    private static let filesForLane = 64
    private static let partsForLane = 2

    let context: RequestContext
    let destination: PullDirectory
    let events: any PullAudience
    private let state: Locked<State>

    init(_ context: RequestContext, _ paths: [String], _ destination: PullDirectory, _ events: any PullAudience) {
        (self.context, self.destination, self.events) = (context, destination, events)
        state = Locked(State())
        add(paths.map { .operand(PullOperand($0, self)) })
    }

    /// For files that are known.
    init(
        _ context: RequestContext, fetching files: [PullFile], _ destination: PullDirectory, _ events: any PullAudience
    ) {
        (self.context, self.destination, self.events) = (context, destination, events)
        state = Locked(State())
        add(files.map { .file($0) })
    }

    var isOver: Bool { state.withLock { $0.isEmpty && $0.open == 0 } }

    /// Whether a connection is to read on. One to which a list comes waits while thousands of files do that others can
    /// take; never more than one does, so that there is always another.
    func mayRead(_ lane: PullLane, isList: Bool) -> Bool {
        guard !events.isFull else { return false }
        let name = ObjectIdentifier(lane)
        return state.withLock { state in
            if isList, state.waiting == nil, state.lanes > 1, state.fileCount >= Self.mostFiles { state.waiting = name }
            return state.waiting != name
        }
    }

    /// The next thing to do: files first, so that few wait.
    func next() -> Item? {
        let (item, news) = state.withLock { state -> (Item?, (@Sendable () -> Void)?) in
            guard let item = state.take() else { return (nil, nil) }
            state.open += 1
            return (item, state.fileCount <= Self.mostFiles / 2 ? state.endWaiting() : nil)
        }
        news?()
        return item
    }

    func add(_ items: [Item]) {
        guard !items.isEmpty else { return }
        let news = state.withLock { state in
            for item in items { state.add(item) }
            return state.news
        }
        news?()
    }

    /// Something that was taken out is done.
    func done() {
        let news = state.withLock { state -> (@Sendable () -> Void)? in
            state.open -= 1
            return state.isEmpty && state.open == 0 ? state.news : nil
        }
        news?()
    }

    /// Something that was taken out has to be done again.
    func again(_ item: Item) {
        let news = state.withLock { state in
            state.open -= 1
            state.add(item)
            return state.news
        }
        news?()
    }

    func report(_ report: PullReport) {
        events.send(.finished(report))
        done()
    }

    /// A file did not come: it is asked for again where that can help, and otherwise reported.
    func retry(_ file: PullFile, _ failure: LocalFailure) {
        file.attempts += 1
        guard failure.code.isRetryable, file.attempts <= context.configuration.retries else {
            return report(file.report(failure.code, failure.message))
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

    func makeSource(isFirst: Bool) -> any RequestSource { PullLane(self) }

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
            if state.parts.count >= Self.partsForLane { return (Self.filesForLane, UInt64(0)) }
            return (
                state.fileCount,
                state.files[state.firstFile...].prefix(4).reduce(0) { $0 + min($1.entry.size, 1 << 40) }
            )
        }
        return count >= Self.filesForLane || count >= 2 && bytes >= 32 << 20
    }

    func connect(_ news: @escaping @Sendable () -> Void) {
        state.withLock { $0.news = news }
    }

    func letGo() { state.withLock { $0 = State() } }

    func connected() { events.send(.connected(server: context.server.description)) }

    func reconnecting(reason: String, after seconds: Double) {
        events.send(.reconnecting(reason: reason, after: seconds))
    }
}

extension PullPlan.State {
    /// - Returns: what is to be called, when somebody waits.
    fileprivate mutating func endWaiting() -> (@Sendable () -> Void)? {
        waiting.take() == nil ? nil : news
    }

    fileprivate mutating func take() -> PullPlan.Item? {
        if let (split, range) = parts.popLast() { return .part(split, range) }
        if firstFile < files.count {
            firstFile += 1
            let file = files[firstFile - 1]
            if firstFile >= 1024 || firstFile == files.count {
                files.removeFirst(firstFile)
                firstFile = 0
            }
            return .file(file)
        }
        if let folder = folders.popLast() { return .folder(folder) }
        guard firstOperand < operands.count else { return nil }
        firstOperand += 1
        return .operand(operands[firstOperand - 1])
    }

    fileprivate mutating func add(_ item: PullPlan.Item) {
        switch item {
        case .operand(let operand): operands.append(operand)
        case .folder(let folder): folders.append(folder)
        case .file(let file): files.append(file)
        case .part(let split, let range): parts.append((split, range))
        }
    }
}
