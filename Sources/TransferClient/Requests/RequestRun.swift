import TransferConnection
import TransferIO
import TransferModel
import TransferProtocol
import TransferSystem

/// What is to be asked, over as many connections as help.
protocol RequestPlan: AnyObject, Sendable {
    /// What another connection is to ask.
    ///
    /// - Parameter isFirst: whether it is the one that stays to the end; others help it.
    func makeSource(isFirst: Bool) -> any RequestSource

    /// Whether there is enough waiting for one more connection.
    var wantsLane: Bool { get }

    /// - Parameter news: called whenever there is something to ask that was not there before.
    func connect(_ news: @escaping @Sendable () -> Void)

    /// All is over: drops the news, which hold the run, and what is left to ask, which holds the plan. The client's threads
    /// end with these.
    func letGo()

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
    private var sessions: [WireConnection<RequestSession>] = []
    private var address: SocketAddress?
    private(set) var isCancelled = false
    private var isOver = false
    private(set) var hasConnected = false
    private let started = MonotonicTime.now
    /// Connections beside the first that are open, and that were lost.
    private var helpers = 0
    private var losses = 0
    /// Fired when one of those has ended.
    private let helperEnded = Signal()
    private let reconnector: Reconnector
    /// Tells the server which connections are of this command.
    private let number = UInt64.random(in: .min ... .max)

    /// Connections that may be lost before it is taken that this server or this network wants no more than one.
    private static let mostLosses = 3

    init(_ context: RequestContext, _ plan: any RequestPlan) {
        self.context = context
        self.plan = plan
        unownedExecutor = context.loop.asUnownedSerialExecutor()
        reconnector = Reconnector(
            context.server, context.configuration, context.security, on: context.loop, pool: context.pool,
            leaving: "what has arrived")
    }

    /// - Returns: when everything is answered, or why not.
    func run() async -> Result<Void, TransferFailure> {
        let loop = context.loop
        plan.connect { Task(executorPreference: loop) { await self.news() } }
        let outcome = await reconnector.carryOn(self)
        isOver = true
        for session in sessions { await session.cancel() }
        while helpers > 0 { await helperEnded.wait() }
        plan.letGo()
        return switch outcome {
        case .complete: .success(())
        case .cancelled: .failure(.stopped)
        case .failed(let failure, _): .failure(failure)
        }
    }

    /// Stops it all.
    func cancel() async {
        isCancelled = true
        await reconnector.cancel()
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
        let session = makeSession(isFirst: false, to: RequestSession.Target(address: address, hasConnected: true))
        let ending = await session.run().ending
        sessions.removeAll { $0 === session }
        helpers -= 1
        if ending != .complete { losses += 1 }
        helperEnded.fire()
        // What it had asked for is to be asked again.
        for session in sessions { await session.resume() }
    }

    private func makeSession(isFirst: Bool, to target: RequestSession.Target) -> WireConnection<RequestSession> {
        let loop = context.loop
        let session = RequestSession(context, plan.makeSource(isFirst: isFirst), run: number, to: target) {
            Task(executorPreference: loop) { await self.welcomed() }
        }
        let connection = WireConnection(
            ConnectionDriver(context.configuration.timeouts), on: context.loops.loop(for: sessions.count), session)
        sessions.append(connection)
        return connection
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

extension RequestRun: ReconnectingRun {
    func attempt(at address: SocketAddress, within limit: Interval?) async -> Reconnector.Attempt {
        let target = RequestSession.Target(address: address, limit: limit, hasConnected: hasConnected)
        let session = makeSession(isFirst: true, to: target)
        self.address = address
        let attempt = await session.run()
        sessions.removeAll { $0 === session }
        return attempt
    }

    /// What was asked for and not answered.
    func hasMore() -> Bool { true }

    func reconnects(_ reason: String, after interval: Interval) {
        plan.reconnecting(reason: reason, after: interval.seconds)
    }
}
