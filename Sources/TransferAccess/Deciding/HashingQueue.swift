import TransferModel
import TransferSystem

/// Where secrets are hashed: few at once, because each takes a core for 70 ms, and 32 MiB.
///
/// A client opens many connections at the same moment, and shows one secret on all of them. The secret is hashed once, and every
/// connection gets that result. Other secrets wait in a short queue. One network may take half of the queue's places, so wrong secrets from
/// one address leave the other half to other clients. Secrets for one token may take a quarter, so wrong ones from many addresses
/// leave the rest to clients with other tokens.
final class HashingQueue: Sendable {
    /// Secrets that are hashed at once.
    static let mostRunning = 2

    /// Secrets that wait for their turn, each on a thread that decides about clients: 0.3 s for all of them.
    static let mostWaiting = 8

    /// Those of them that one network may have shown.
    static let mostOfNetwork = 4

    /// Those of them that were shown for one token.
    static let mostOfToken = 2

    /// Connections that wait for a result that another connection computes: as many lanes as a push may have.
    static let mostJoined = 16

    /// One secret that is hashed, or waits for that.
    private final class Job {
        /// Nil until it was hashed.
        var isRight: Bool?
    }

    private struct State {
        var running = 0
        var joined = 0
        /// By what is hashed.
        var jobs: [String: Job] = [:]
        /// Who has shown secrets that wait, and for which token, with the numbers of their turns; the first one is next.
        var waiting: [(turn: Int, network: PeerNetwork?, token: String)] = []
        var turns = 0

        func isFull(for network: PeerNetwork?, _ token: String?) -> Bool {
            running >= HashingQueue.mostRunning
                && (waiting.count >= HashingQueue.mostWaiting
                    || waiting.count { $0.network == network } >= HashingQueue.mostOfNetwork
                    || waiting.count { $0.token == token } >= HashingQueue.mostOfToken)
        }
    }

    private let monitor = Monitor(State())

    /// Whether a secret that nothing else hashes would be refused.
    ///
    /// - Parameter token: its id; nil for none that there is.
    func isFull(for network: PeerNetwork?, _ token: String? = nil) -> Bool {
        monitor.withLock { monitor.state.isFull(for: network, token) }
    }

    /// Hashes a secret and compares it, on this thread or on one that is at it already.
    ///
    /// - Parameters:
    ///   - subject: what is hashed, and what it is compared with.
    ///   - token: the id of what it is compared with.
    ///   - network: of the client that has shown it.
    /// - Returns: whether it is right; nil if too many are hashed.
    func isRight(_ subject: String, of token: String, from network: PeerNetwork?, _ compare: () -> Bool) -> Bool? {
        monitor.lock()
        defer { monitor.unlock() }
        if let job = monitor.state.jobs[subject] {
            guard monitor.state.joined < Self.mostJoined else { return nil }
            monitor.state.joined += 1
            defer { monitor.state.joined -= 1 }
            while true {
                if let isRight = job.isRight { return isRight }
                monitor.wait()
            }
        }
        guard !monitor.state.isFull(for: network, token) else { return nil }
        let job = Job()
        monitor.state.jobs[subject] = job
        takeTurn(network, token)
        monitor.unlock()
        let isRight = compare()
        monitor.lock()
        monitor.state.running -= 1
        job.isRight = isRight
        monitor.state.jobs[subject] = nil
        monitor.wakeAll()
        return isRight
    }

    /// Waits until fewer are hashed and all that came before have had their turn. With the lock held.
    private func takeTurn(_ network: PeerNetwork?, _ token: String) {
        monitor.state.turns += 1
        let turn = monitor.state.turns
        monitor.state.waiting.append((turn, network, token))
        while monitor.state.running >= Self.mostRunning || monitor.state.waiting.first?.turn != turn { monitor.wait() }
        monitor.state.waiting.removeFirst()
        monitor.state.running += 1
        // The next one may have its turn as well.
        monitor.wakeAll()
    }
}
