import TransferConnection
import TransferHTTP
import TransferIO
import TransferModel
import TransferProtocol

/// One connection to a server of HTTP: makes one request after the other, and turns what the server says into reports. Lives
/// on the run's loop.
actor HTTPPushSession {
    typealias Ending = ClientSession.Ending

    /// How a connection ended.
    enum End {
        case final(Ending)
        /// It is used up, as connections of HTTP are, and the next one goes on.
        case spent
    }

    nonisolated let unownedExecutor: UnownedSerialExecutor
    nonisolated var loop: EventLoop { push.run.loop }

    let push: HTTPPush
    var run: RunContext { push.run }
    let driver: ConnectionDriver
    var outbound = Outbound<Never>()
    var reader = ResponseReader()
    var hasSendFailed = false
    var ending: Ending?
    /// Whether no request can be made any more.
    var isSpent = false
    /// The request that is under way.
    var exchange: HTTPExchange?
    /// The upload that is under way, and bytes of it that went before, and that were queued.
    var current: (upload: PendingUpload, before: UInt64, queued: UInt64)?
    /// Fired when the one who asks has to look again.
    let news = Signal()

    private(set) var hasConnected = false
    /// Whether any request was answered here.
    var hasAnswered = false
    /// Whether any upload got further here.
    var hasProgressed = false

    init(_ push: HTTPPush) {
        self.push = push
        unownedExecutor = push.run.loop.asUnownedSerialExecutor()
        driver = ConnectionDriver(push.run.timeouts)
    }

    /// Lives through the connection. What has no result is back in the feed when it returns.
    func converse(with address: SocketAddress, within limit: Interval? = nil) async -> End {
        if let reason = await connect(to: address, run.timeouts, within: limit) {
            return .final(ending ?? .lost(reason))
        }
        if let socket = driver.socket { await secure(socket) }
        guard ending == nil else {
            close()
            return .final(ending ?? .cancelled)
        }
        hasConnected = true
        establish()
        let reader = Task(executorPreference: loop) { await self.readLoop() }
        let writer = Task(executorPreference: loop) { await self.writeLoop() }
        if push.offer == nil { await discover() }
        var isFirst = true
        while isUsable, let upload = await nextUpload() {
            if isFirst { push.isReady.fire() }
            isFirst = false
            await send(upload)
        }
        let outcome = ending.map { End.final($0) } ?? (isSpent ? .spent : .final(.complete))
        end(.complete)
        await reader.value
        await writer.value
        return outcome
    }

    private func secure(_ socket: StreamSocket) async {
        let greeting = ServerGreeting(server: run.server, security: run.security, pool: run.pool)
        if let reason = await greeting.secure(socket, hasConnected: push.offer != nil, unless: { ending != nil }) {
            end(reason)
        }
    }

    /// Whether another request can be made.
    var isUsable: Bool { !isEnding }

    /// Nothing more is asked over this connection.
    func spend() {
        isSpent = true
        close()
        news.fire()
    }

    /// Waits for a while, or until the connection is over.
    func pause(_ interval: Interval, orUntil isDone: (isolated HTTPPushSession) -> Bool = { _ in false }) async {
        let end = MonotonicTime.now + interval
        let timer = loop.schedule(at: end.nanoseconds) { [weak self] in
            self?.assumeIsolated { $0.news.fire() }
        }
        while ending == nil, !isDone(self), MonotonicTime.now < end { await news.wait() }
        loop.cancel(timer)
    }
}
