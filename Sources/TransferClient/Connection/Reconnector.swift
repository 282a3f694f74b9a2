import TransferIO
import TransferModel
import TransferProtocol

/// A push or a set of requests that continues over several connections. It lives on one loop.
protocol ReconnectingRun: Actor {
    /// Whether the consumer wants no other connection.
    var isCancelled: Bool { get }

    /// Whether the server has answered on any connection.
    var hasConnected: Bool { get }

    /// Uses one connection until it ends.
    ///
    /// - Parameter limit: the most time for connecting and the handshake together; nil for the normal deadline.
    func attempt(at address: SocketAddress, within limit: Interval?) async -> Reconnector.Attempt

    /// Whether another connection would have work. A connection that is lost after its last result has done everything.
    func hasMore() async -> Bool

    /// Reports that another attempt follows after the interval.
    func reconnects(_ reason: String, after interval: Interval)
}

/// Connects, and connects again after a loss, as long as `Patience` allows. All commands of a client share its rules:
/// what counts as progress, how long to wait, when to give up, and what the error says.
///
/// Each run has its own reconnector, which is used only on the run's loop.
final class Reconnector {
    typealias Ending = ClientSession.Ending

    /// The outcome of one connection.
    struct Attempt {
        let ending: Ending
        /// Whether the server has answered on this connection.
        let hasConnected: Bool
        /// Whether the connection made progress; if so, the time for retrying starts again.
        let hasProgressed: Bool
    }

    /// The outcome of the whole run.
    enum Outcome {
        case complete
        case cancelled
        /// - Parameter ending: how the last connection ended.
        case failed(TransferFailure, _ ending: Ending)
    }

    private let server: ServerAddress
    private let pool: BlockingPool
    private let loop: EventLoop
    private let inquiry: TrustInquiry
    /// What is not lost if the run fails; the end of a sentence.
    private let rest: String
    private var patience: Patience
    /// Whether any connection had worked when the latest pause began. Until then, the time for retrying is that of the
    /// first connection.
    private var hasWorked = false
    private let retriesFirstConnection: Bool
    private var generator = SystemRandomNumberGenerator()
    /// Whether the latest attempt failed because the name could not be resolved.
    private var isNameLost = false
    /// A sentence for errors; see `ClientConfiguration.nameAdvice`.
    private let nameAdvice: String
    private let isCancelled = Signal()

    /// - Parameter rest: what is not lost if the run fails; the end of a sentence.
    init(
        _ server: ServerAddress, _ configuration: ClientConfiguration, _ security: ClientSecurity?, on loop: EventLoop,
        pool: BlockingPool, leaving rest: String
    ) {
        self.server = server
        self.pool = pool
        self.loop = loop
        self.rest = rest
        inquiry = TrustInquiry(configuration, security, on: loop, pool: pool)
        patience = Patience(seconds: configuration.retryFor)
        nameAdvice = configuration.nameAdvice
        retriesFirstConnection = configuration.retriesFirstConnection
    }

    /// Connects until the run is complete, cancelled or failed.
    func carryOn<Run: ReconnectingRun>(_ run: isolated Run) async -> Outcome {
        while !run.isCancelled {
            let attempt = await connect(run)
            switch attempt.ending {
            case .complete: return .complete
            case .cancelled: return .cancelled
            case .refused, .unsupported, .untrusted, .fault:
                return .failed(failure(run, attempt.ending), attempt.ending)
            case .unknown(let server):
                guard await inquiry.isTrusted(server) else {
                    return .failed(failure(run, attempt.ending), attempt.ending)
                }
                // The time that the user took to answer does not count as time for retrying.
                patience.progressed()
            case .lost(let reason):
                guard run.hasConnected || retriesFirstConnection else {
                    return .failed(failure(run, attempt.ending), attempt.ending)
                }
                if let outcome = await pause(run, attempt, reason) { return outcome }
            case .paused(let result):
                let hold = Interval.milliseconds(Int64(result.retryAfter ?? 0))
                if let outcome = await pause(run, attempt, result.message, hold) { return outcome }
            }
        }
        return .cancelled
    }

    /// Ends the run, also while it waits.
    func cancel() async {
        isCancelled.fire()
        await inquiry.cancel()
    }

    /// Tries the server's addresses in order until one answers.
    private func connect<Run: ReconnectingRun>(_ run: isolated Run) async -> Attempt {
        if !run.hasConnected, retriesFirstConnection { patience.begin(now: .now) }
        let endpoint = server.endpoint
        let addresses: [SocketAddress]
        switch await pool.run({ Result { () throws(ResolutionError) in try endpoint.resolve() } }) {
        case .success(let found): addresses = found
        case .failure(let error):
            isNameLost = true
            return Attempt(ending: .lost(error.reason), hasConnected: false, hasProgressed: false)
        }
        isNameLost = false
        var last = Attempt(ending: .lost("The name has no address."), hasConnected: false, hasProgressed: false)
        for (index, address) in addresses.enumerated() {
            guard !run.isCancelled else {
                return Attempt(ending: .cancelled, hasConnected: false, hasProgressed: false)
            }
            let limit = patience.share(with: addresses.count - index - 1, now: .now)
            last = await run.attempt(at: address, within: limit)
            guard case .lost = last.ending, !last.hasConnected else { break }
        }
        return last
    }

    /// Waits before the next attempt.
    ///
    /// - Parameter hold: the least time to wait.
    /// - Returns: the outcome of the run; nil if another attempt follows.
    private func pause<Run: ReconnectingRun>(
        _ run: isolated Run, _ attempt: Attempt, _ reason: String, _ hold: Interval = Interval(nanoseconds: 0)
    ) async -> Outcome? {
        guard !run.isCancelled else { return .cancelled }
        if run.hasConnected, await !run.hasMore() { return .complete }
        if attempt.hasProgressed || run.hasConnected && !hasWorked { patience.progressed() }
        hasWorked = run.hasConnected
        guard let interval = patience.lost(hold, now: .now, using: &generator) else {
            return .failed(failure(run, attempt.ending), attempt.ending)
        }
        run.reconnects(reason, after: interval)
        let end = MonotonicTime.now + interval
        let timer = loop.schedule(at: end.nanoseconds) { [isCancelled] in isCancelled.fire() }
        while !run.isCancelled, MonotonicTime.now < end { await isCancelled.wait() }
        loop.cancel(timer)
        return nil
    }

    /// The reason why there is no other attempt.
    private func failure<Run: ReconnectingRun>(_ run: isolated Run, _ ending: Ending) -> TransferFailure {
        switch ending {
        case .complete, .cancelled: .stopped
        case .refused(let result): .refused(result)
        case .unsupported(let message): TransferFailure(reason: .unsupported, message: message)
        case .untrusted(let message, let remedy):
            TransferFailure(reason: .untrusted, message: message, remedy: remedy)
        case .unknown(let server): .unknown(server)
        case .fault(let fault): .broken(server.endpoint, fault)
        case .lost(let reason):
            .unreachable(
                server.endpoint, reason, nameAdvice: isNameLost ? nameAdvice : nil, triedFor: triedFor(run),
                leaving: run.hasConnected ? rest : nil)
        case .paused(let result): .refused(result, triedFor: patience.tried(now: .now))
        }
    }
}

extension Reconnector {
    /// - Returns: nil if there was only one attempt.
    private func triedFor<Run: ReconnectingRun>(_ run: isolated Run) -> Double? {
        run.hasConnected || retriesFirstConnection ? patience.tried(now: .now) : nil
    }
}

extension TransferFailure {
    static let stopped = TransferFailure(reason: .cancelled, message: "It was stopped.")
}
