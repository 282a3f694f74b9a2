import TransferIO
import TransferModel
import TransferProtocol

/// What is carried on over one connection after the other: a push, or requests. Lives on one loop.
protocol ReconnectingRun: Actor {
    /// Whether nobody wants another connection.
    var isCancelled: Bool { get }

    /// Whether the server has answered on any connection.
    var hasConnected: Bool { get }

    /// Lives through one connection.
    ///
    /// - Parameter limit: what connecting and the handshake may take together; nothing for what they always may.
    func attempt(at address: SocketAddress, within limit: Interval?) async -> Reconnector.Attempt

    /// Whether there is anything to do for another connection: one that was lost after its last result has done its work.
    func hasMore() async -> Bool

    /// Another attempt follows after so long.
    func reconnects(_ reason: String, after interval: Interval)
}

/// Connects, and after a lost connection connects again, as long as patience lasts: what counts as progress, how long to wait,
/// when to give up, and what is said of it are the same for all that a client does.
///
/// Belongs to a run, and like it to one loop.
final class Reconnector {
    typealias Ending = ClientSession.Ending

    /// What came of one connection.
    struct Attempt {
        let ending: Ending
        /// Whether the server has answered on it.
        let hasConnected: Bool
        /// Whether anything got further on it; then the next one starts with patience anew.
        let hasProgressed: Bool
    }

    /// How it all ended.
    enum Outcome {
        case complete
        case cancelled
        /// - Parameter ending: that of the last connection.
        case failed(TransferFailure, _ ending: Ending)
    }

    private let server: ServerAddress
    private let pool: BlockingPool
    private let loop: EventLoop
    private let inquiry: TrustInquiry
    /// What is not lost when it is given up.
    private let rest: String
    private var patience: Patience
    /// Whether a connection has worked; before that, patience is about the first one.
    private var hasWorked = false
    private let retriesFirstConnection: Bool
    private var generator = SystemRandomNumberGenerator()
    /// Whether the latest attempt ended with the server's name.
    private var isNameLost = false
    /// See `ClientConfiguration`.
    private let nameAdvice: String
    private let isCancelled = Signal()

    /// - Parameter rest: what is not lost when it is given up, for a sentence.
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

    /// - Returns: when all is done, or given up.
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
                // Whoever had to answer has taken his time.
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

    /// Nobody wants to wait any more.
    func cancel() async {
        isCancelled.fire()
        await inquiry.cancel()
    }

    /// Tries the server's addresses in turn until one answers.
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
    /// - Parameter hold: to be waited at least.
    /// - Returns: how it ended; nothing when it goes on.
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

    /// Why no other connection is tried.
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
    /// - Returns: nothing when it was tried once.
    private func triedFor<Run: ReconnectingRun>(_ run: isolated Run) -> Double? {
        run.hasConnected || retriesFirstConnection ? patience.tried(now: .now) : nil
    }
}

extension TransferFailure {
    static let stopped = TransferFailure(reason: .cancelled, message: "It was stopped.")
}
