import TransferIO
import TransferModel

/// Asks the user whether an unknown server is to be trusted, and waits for the answer.
actor TrustInquiry {
    nonisolated let unownedExecutor: UnownedSerialExecutor

    private let configuration: ClientConfiguration
    private let security: ClientSecurity?
    private let pool: BlockingPool
    private let news = Signal()
    private var answer: Bool?
    private var isCancelled = false

    /// - Parameter loop: the loop of the run that asks.
    init(_ configuration: ClientConfiguration, _ security: ClientSecurity?, on loop: EventLoop, pool: BlockingPool) {
        self.configuration = configuration
        self.security = security
        self.pool = pool
        unownedExecutor = loop.asUnownedSerialExecutor()
    }

    /// Asks the user, unless the server has become known meanwhile.
    ///
    /// - Returns: whether another attempt may succeed: false if no user can be asked; true also after `cancel`, so that
    ///   the run notices it.
    func isTrusted(_ server: UnknownServer) async -> Bool {
        if let verifier = security?.verifier, await pool.run({ verifier.isListedByNow() }) { return true }
        guard case .tls(let trust) = configuration.security, case .ask(let ask) = trust.firstContact else {
            return false
        }
        answer = nil
        Task.detached { await self.answered(ask(server)) }
        while answer == nil, !isCancelled { await news.wait() }
        guard answer == true else { return isCancelled }
        security?.verifier.accept(server.fingerprint)
        return true
    }

    /// Stops waiting for the answer.
    func cancel() {
        isCancelled = true
        news.fire()
    }

    private func answered(_ isTrusted: Bool) {
        answer = isTrusted
        news.fire()
    }
}
