import Glibc
import Synchronization
import TransferIO
import TransferKeys
import TransferSystem
import TransferTestSupport

/// Many connections of hostile clients, on a separate thread, until `stop`. The thread has the lowest priority, so that
/// the tests measure the work that the server does for the clients, and not the clients' own work on the same machine.
final class Siege: Sendable {
    /// The task of one connection.
    struct Post: Sendable {
        let key: KeyPair
        let order: HostileClient.Order
        /// Number of earlier posts with the same order.
        let number: Int
    }

    private struct State {
        var rounds = 0
        /// How the siege has ended; nil while it lasts.
        var end: Result<Void, any Error>?
    }

    private let monitor = Monitor(State())
    private let isStopping = Atomic(false)
    private let pool = BlockingPool(name: "siege", threads: 1)

    /// Begins, and returns after the first round over all connections.
    init(_ posts: [Post], to address: String, _ ground: HostileClient.Ground) {
        pool.submit { [self] in
            setpriority(__priority_which_t(PRIO_PROCESS.rawValue), 0, 19)
            let end = Result { try run(posts, address, ground) }
            tell { $0.end = end }
        }
        monitor.withLock { while monitor.state.rounds == 0, monitor.state.end == nil { monitor.wait() } }
    }

    /// - Returns: number of rounds over all connections.
    /// - Throws: the error that ended the siege early.
    func stop() throws -> Int {
        isStopping.store(true, ordering: .relaxed)
        defer { pool.close() }
        let state = monitor.withLock {
            while monitor.state.end == nil { monitor.wait() }
            return monitor.state
        }
        try state.end?.get()
        return state.rounds
    }

    private func tell(_ change: (inout State) -> Void) {
        monitor.withLock { change(&monitor.state) }
        monitor.wakeAll()
    }

    private func run(_ posts: [Post], _ address: String, _ ground: HostileClient.Ground) throws {
        var clients = try posts.map { try HostileClient(to: address, $0.key) }
        var round = 0
        while !isStopping.load(ordering: .relaxed) {
            for (index, post) in posts.enumerated() where !isStopping.load(ordering: .relaxed) {
                var order = post.order
                if order == .questions, post.number >= ground.parts.count { order = .fetches }
                // A server remembers the answer to a question as long as the connection is open, so a new connection
                // asks again.
                if clients[index].isClosed || order == .questions && round % 4 == 3 {
                    clients[index] = try HostileClient(to: address, post.key)
                }
                try clients[index].go(order, post.number, round * posts.count + index, ground)
            }
            round += 1
            tell { $0.rounds = round }
        }
    }
}

extension [Siege.Post] {
    /// - Parameters:
    ///   - connections: number of connections for each client.
    ///   - orders: the orders of the connections, used in turn.
    init(_ keys: [KeyPair], connections: Int, _ orders: [HostileClient.Order]) {
        self = keys.flatMap { key in
            (0..<connections).map { Siege.Post(key: key, order: orders[$0 % orders.count], number: $0 / orders.count) }
        }
    }
}
