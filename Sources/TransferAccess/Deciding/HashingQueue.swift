import TransferModel
import TransferSystem

/// Hashes secrets, few at once, because each takes a core for 70 ms, and 32 MiB.
///
/// A client opens many connections at the same moment with one secret. It is hashed once, and every connection gets
/// that result. Other secrets wait in a short queue. One network may occupy half of it, so that wrong secrets from one
/// address leave the other half to other clients; secrets for one token may occupy a quarter, so that wrong ones from
/// many addresses leave the rest to clients with other tokens.
final class HashingQueue: Sendable {
    /// Most secrets that are hashed at once.
    static let mostRunning = 2

    /// Most waiting secrets, each on a thread of the pool for authentication: 0.3 s for all of them.
    static let mostWaiting = 8

    /// Most waiting secrets of one network.
    static let mostOfNetwork = 4

    /// Most waiting secrets for one token.
    static let mostOfToken = 2

    /// Most connections that wait for a result that another one computes: as many lanes as a push may have.
    static let mostJoined = 16

    /// A secret that is being hashed, or waits for that.
    private final class Job {
        /// Result; nil until it is hashed.
        var isRight: Bool?
    }

    private struct State {
        var running = 0
        var joined = 0
        /// Jobs by the text that is hashed.
        var jobs: [String: Job] = [:]
        /// Waiting secrets with the numbers of their turns; the first is next.
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

    /// Whether a new secret would be refused.
    ///
    /// - Parameter token: ID of the token; nil if that is unknown.
    func isFull(for network: PeerNetwork?, _ token: String? = nil) -> Bool {
        monitor.withLock { monitor.state.isFull(for: network, token) }
    }

    /// Hashes and compares a secret, or waits for a thread that does so already.
    ///
    /// - Parameters:
    ///   - subject: the secret and what it is compared with.
    ///   - token: ID of the token that it is compared with.
    ///   - network: network of the client.
    /// - Returns: whether it is right; nil if too many are being hashed.
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

    /// Waits for this job's turn in order. Called with the lock held.
    private func takeTurn(_ network: PeerNetwork?, _ token: String) {
        monitor.state.turns += 1
        let turn = monitor.state.turns
        monitor.state.waiting.append((turn, network, token))
        while monitor.state.running >= Self.mostRunning || monitor.state.waiting.first?.turn != turn { monitor.wait() }
        monitor.state.waiting.removeFirst()
        monitor.state.running += 1
        // The next job may also run now.
        monitor.wakeAll()
    }
}
