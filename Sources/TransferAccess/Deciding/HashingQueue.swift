import TransferModel
import TransferSystem

/// Hashes secrets, but only two at a time, because each takes 70 ms of a core and 32 MiB.
///
/// If a client opens many connections with one secret at the same moment, the secret is hashed once, and every
/// connection gets that result. Other secrets wait in a short queue. Secrets from one network may occupy half of the
/// queue, so that wrong secrets from one address leave the other half to other clients. Secrets for one token may
/// occupy a quarter, so that wrong secrets from many addresses leave the rest to clients with other tokens.
final class HashingQueue: Sendable {
    /// Most secrets that are hashed at once.
    static let mostRunning = 2

    /// Most waiting secrets, each of which occupies a thread of the pool for authentication. All of them take 0.3 s.
    static let mostWaiting = 8

    /// Most waiting secrets of one network.
    static let mostOfNetwork = 4

    /// Most waiting secrets for one token.
    static let mostOfToken = 2

    /// Most connections that wait for the result of another connection's hash: as many as a push may have lanes.
    static let mostJoined = 16

    /// A secret that is being hashed, or waits to be.
    private final class Job {
        /// Whether the secret is right; nil until it is hashed.
        var isRight: Bool?
    }

    private struct State {
        var running = 0
        var joined = 0
        /// Jobs by the text that is hashed.
        var jobs: [String: Job] = [:]
        /// Waiting secrets with their turns, in order; the first is next.
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

    /// Hashes a secret and compares it, or waits for another thread that is doing this.
    ///
    /// - Parameters:
    ///   - subject: text of the secret and of the entry with which it is compared; equal texts are hashed once.
    ///   - token: ID of the entry with which the secret is compared.
    ///   - network: network of the client.
    /// - Returns: whether the secret is right; nil if too many secrets, or connections with this secret, are waiting.
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

    /// Waits for this job's turn. Called with the lock held.
    private func takeTurn(_ network: PeerNetwork?, _ token: String) {
        monitor.state.turns += 1
        let turn = monitor.state.turns
        monitor.state.waiting.append((turn, network, token))
        while monitor.state.running >= Self.mostRunning || monitor.state.waiting.first?.turn != turn { monitor.wait() }
        monitor.state.waiting.removeFirst()
        monitor.state.running += 1
        // The next job may be able to run at the same time.
        monitor.wakeAll()
    }
}
