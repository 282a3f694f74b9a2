import TransferIO
import TransferModel

/// Asks somebody, who may take his time, whether an unknown server is to be trusted.
actor TrustInquiry {
    nonisolated let unownedExecutor: UnownedSerialExecutor

    private let configuration: ClientConfiguration
    private let security: ClientSecurity?
    private let pool: BlockingPool
    private let news = Signal()
    private var answer: Bool?
    private var isCancelled = false

    /// - Parameter loop: that of the run that asks.
    init(_ configuration: ClientConfiguration, _ security: ClientSecurity?, on loop: EventLoop, pool: BlockingPool) {
        self.configuration = configuration
        self.security = security
        self.pool = pool
        unownedExecutor = loop.asUnownedSerialExecutor()
    }

    /// Asks only if the server is still unknown.
    ///
    /// - Returns: whether another attempt may find that it is trusted: false without anybody to ask; true also when it was cancelled,
    ///   so that the run finds out.
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

    /// Nobody waits for the answer any more.
    func cancel() {
        isCancelled = true
        news.fire()
    }

    private func answered(_ isTrusted: Bool) {
        answer = isTrusted
        news.fire()
    }
}
