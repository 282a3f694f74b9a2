import TransferIO
import TransferModel
import TransferProtocol
import TransferSystem

/// What is to be asked, over as many connections as help.
protocol RequestPlan: AnyObject, Sendable {
    /// What another connection is to ask.
    func makeSource() -> any RequestSource

    /// Whether there is enough waiting for one more connection.
    var wantsLane: Bool { get }

    /// - Parameter news: called whenever there is something to ask that was not there before.
    func connect(_ news: @escaping @Sendable () -> Void)

    /// The server has let this client in.
    func connected()

    /// The next attempt follows after that many seconds.
    func reconnecting(reason: String, after: Double)
}

/// Requests from the first connection to the last answer: connects, and after a lost connection connects again with growing
/// waits and asks again for what has no answer.
actor RequestRun {
    nonisolated let unownedExecutor: UnownedSerialExecutor

    private let context: RequestContext
    private let plan: any RequestPlan
    private var sessions: [RequestSession] = []
    private var address: SocketAddress?
    private var isCancelled = false
    private var isOver = false
    private var hasConnected = false
    /// Whether the latest attempt ended with the server's name.
    private var isNameLost = false
    private let started = MonotonicTime.now
    /// Connections beside the first that are open, and that were lost.
    private var helpers = 0
    private var losses = 0
    private var backoff = Backoff()
    /// Runs from the first loss since the last progress.
    private var patience: MonotonicTime?
    private var generator = SystemRandomNumberGenerator()
    private let mayGoOn = Signal()
    private let inquiry: TrustInquiry

    /// Connections that may be lost before it is taken that this server or this network wants no more than one.
    private static let mostLosses = 3

    init(_ context: RequestContext, _ plan: any RequestPlan) {
        self.context = context
        self.plan = plan
        unownedExecutor = context.loop.asUnownedSerialExecutor()
        inquiry = TrustInquiry(context.configuration, context.security, on: context.loop)
    }

    /// - Returns: when everything is answered, or why not.
    func run() async -> Result<Void, PushFailure> {
        let loop = context.loop
        plan.connect { Task(executorPreference: loop) { await self.news() } }
        let end = await converseUntilDone()
        isOver = true
        for session in sessions { await session.cancel() }
        while helpers > 0 { await mayGoOn.wait() }
        return end
    }

    /// Stops it all.
    func cancel() async {
        isCancelled = true
        mayGoOn.fire()
        await inquiry.cancel()
        for session in sessions { await session.cancel() }
    }

    /// There is more to ask, or room for more answers.
    func news() async {
        for session in sessions { await session.resume() }
        while plan.wantsLane, mayHelp, let address {
            helpers += 1
            Task(executorPreference: context.loop) { await self.help(address) }
        }
    }

    private var mayHelp: Bool {
        hasConnected && !isOver && !isCancelled
            && helpers + 1 < context.configuration.laneAllowance().lanes(after: .now - started)
            && losses < Self.mostLosses
    }

    private func help(_ address: SocketAddress) async {
        let session = makeSession()
        let ending = await session.converse(with: address, hasConnectedBefore: true)
        sessions.removeAll { $0 === session }
        helpers -= 1
        if ending != .complete { losses += 1 }
        mayGoOn.fire()
        // What it had asked for is to be asked again.
        for session in sessions { await session.resume() }
    }

    private func makeSession() -> RequestSession {
        let loop = context.loop
        let session = RequestSession(context, on: context.loops.loop(for: sessions.count), plan.makeSource()) {
            Task(executorPreference: loop) { await self.welcomed() }
        }
        sessions.append(session)
        return session
    }

    private func welcomed() async {
        if !hasConnected {
            hasConnected = true
            plan.connected()
        }
        await news()
    }
}

// MARK: Connecting

extension RequestRun {
    private func converseUntilDone() async -> Result<Void, PushFailure> {
        while !isCancelled {
            let (ending, hasProgressed) = await converse()
            switch ending {
            case .complete: return .success(())
            case .cancelled: return .failure(.stopped)
            case .refused(let result): return .failure(.refused(result))
            case .unsupported(let message): return .failure(PushFailure(reason: .unsupported, message: message))
            case .untrusted(let message): return .failure(PushFailure(reason: .untrusted, message: message))
            case .unknown(let server):
                guard await inquiry.isTrusted(server) else { return .failure(.unknown(server)) }
            case .fault(let fault): return .failure(.broken(context.server.endpoint, fault))
            case .lost(let reason):
                guard hasConnected else { return .failure(unreachable(reason)) }
                guard await wait(reason, hasProgressed) else { return .failure(unreachable(reason)) }
            case .paused(let result):
                let hold = Interval.milliseconds(Int64(result.retryAfter ?? 0))
                guard await wait(result.message, hasProgressed, hold) else {
                    return .failure(.refused(result, triedFor: triedFor))
                }
            }
        }
        return .failure(.stopped)
    }

    /// Tries the server's addresses in turn until one answers.
    private func converse() async -> (ClientSession.Ending, hasProgressed: Bool) {
        let endpoint = context.server.endpoint
        let resolved = await context.pool.run { Result { () throws(ResolutionError) in try endpoint.resolve() } }
        let addresses: [SocketAddress]
        switch resolved {
        case .success(let found): addresses = found
        case .failure(let error):
            isNameLost = true
            return (.lost(error.reason), false)
        }
        isNameLost = false
        var last = ClientSession.Ending.lost("The name has no address.")
        for address in addresses {
            guard !isCancelled else { return (.cancelled, false) }
            let session = makeSession()
            self.address = address
            last = await session.converse(with: address, hasConnectedBefore: hasConnected)
            sessions.removeAll { $0 === session }
            let hasProgressed = await session.hasProgressed
            guard case .lost = last, await !session.hasConnected else { return (last, hasProgressed) }
        }
        return (last, false)
    }

    /// - Parameter hold: to be waited at least.
    /// - Returns: false when there is no time left for another attempt.
    private func wait(
        _ reason: String, _ hasProgressed: Bool, _ hold: Interval = Interval(nanoseconds: 0)
    ) async -> Bool {
        if hasProgressed {
            patience = nil
            backoff.reset()
        }
        let deadline = patience ?? .now + .seconds(context.configuration.retryFor)
        patience = deadline
        let interval = max(hold, backoff.next(using: &generator))
        guard !isCancelled, MonotonicTime.now + interval < deadline else { return isCancelled }
        plan.reconnecting(reason: reason, after: interval.seconds)
        let end = MonotonicTime.now + interval
        let timer = context.loop.schedule(at: end.nanoseconds) { [mayGoOn] in mayGoOn.fire() }
        while !isCancelled, MonotonicTime.now < end { await mayGoOn.wait() }
        context.loop.cancel(timer)
        return true
    }

    private func unreachable(_ reason: String) -> PushFailure {
        .unreachable(
            context.server.endpoint, reason, isName: isNameLost, triedFor: hasConnected ? triedFor : nil,
            leaving: "what has arrived")
    }

    /// Seconds since the first loss after the last progress.
    private var triedFor: Double {
        guard let patience else { return 0 }
        return max(0, context.configuration.retryFor - (patience - .now).seconds)
    }
}

extension PushFailure {
    fileprivate static let stopped = PushFailure(reason: .cancelled, message: "It was stopped.")
}
