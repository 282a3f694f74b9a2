import TransferConnection
import TransferIO
import TransferModel
import TransferProtocol
import TransferSystem

/// Supplies the requests of one command to as many connections as are useful.
protocol RequestPlan: AnyObject, Sendable {
    /// Makes the source of requests for one more connection.
    ///
    /// - Parameter isFirst: whether the connection is the main one, which stays to the end; the others are helpers.
    func makeSource(isFirst: Bool) -> any RequestSource

    /// Whether enough requests wait for one more connection.
    var wantsLane: Bool { get }

    /// - Parameter news: to be called when there are new requests.
    func connect(_ news: @escaping @Sendable () -> Void)

    /// Called at the end. Drops `news`, which references the run, and the remaining requests, which reference the plan:
    /// the client's threads end when these are released.
    func letGo()

    /// The server has sent its first welcome.
    func connected()

    /// The connection was lost; the next attempt follows after the given number of seconds.
    func reconnecting(reason: String, after: Double)
}

/// Runs requests from the first connection to the last answer. After a lost connection it connects again, with growing
/// waits, and repeats the requests that have no answer.
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
    /// Number of helper connections that are open. `losses` counts those that were lost.
    private var helpers = 0
    private var losses = 0
    /// Fired when a helper connection has ended.
    private let helperEnded = Signal()
    private let reconnector: Reconnector
    /// A random number by which the server knows that connections belong to one command.
    private let number = UInt64.random(in: .min ... .max)

    /// The number of lost helper connections after which the run assumes that the server or the network allows only one
    /// connection.
    private static let mostLosses = 3

    init(_ context: RequestContext, _ plan: any RequestPlan) {
        self.context = context
        self.plan = plan
        unownedExecutor = context.loop.asUnownedSerialExecutor()
        reconnector = Reconnector(
            context.server, context.configuration, context.security, on: context.loop, pool: context.pool,
            leaving: "the rest")
    }

    /// - Returns: success when all requests have been answered, or why they were not.
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

    func cancel() async {
        isCancelled = true
        await reconnector.cancel()
        for session in sessions { await session.cancel() }
    }

    /// To be called when there are new requests, or when there is room for more answers.
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
        // Other connections repeat its unanswered requests.
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

    /// Requests without an answer remain whenever a connection was lost.
    func hasMore() -> Bool { true }

    func reconnects(_ reason: String, after interval: Interval) {
        plan.reconnecting(reason: reason, after: interval.seconds)
    }
}
