import Glibc
import Synchronization
import TransferIO
import TransferKeys
import TransferSystem
import TransferTestSupport

/// Many connections of one hostile client, on a thread of their own, until told to stop. The thread is a nice one: what is
/// measured is what the server does for the client, and not what the client does on the same machine.
final class Siege: Sendable {
    private struct State {
        var isReady = false
        var isOver = false
        var rounds = 0
    }

    private let monitor = Monitor(State())
    private let isStopping = Atomic(false)
    private let pool = BlockingPool(name: "siege", threads: 1)

    /// Begins, and returns when all connections are there.
    init(_ count: Int, to address: String, _ key: KeyPair, _ ground: HostileClient.Ground) {
        pool.submit { [self] in
            setpriority(__priority_which_t(PRIO_PROCESS.rawValue), 0, 19)
            try? run(count, address, key, ground)
            tell { $0.isOver = true }
        }
        monitor.withLock { while !monitor.state.isReady, !monitor.state.isOver { monitor.wait() } }
    }

    /// - Returns: how often each connection was visited.
    func stop() -> Int {
        isStopping.store(true, ordering: .relaxed)
        defer { pool.close() }
        return monitor.withLock {
            while !monitor.state.isOver { monitor.wait() }
            return monitor.state.rounds
        }
    }

    private func tell(_ change: (inout State) -> Void) {
        monitor.withLock { change(&monitor.state) }
        monitor.wakeAll()
    }

    private func run(_ count: Int, _ address: String, _ key: KeyPair, _ ground: HostileClient.Ground) throws {
        let orders = HostileClient.Order.allCases
        var clients = try (0..<count).map { _ in try HostileClient(to: address, key) }
        tell { $0.isReady = true }
        var round = 0
        while !isStopping.load(ordering: .relaxed) {
            for index in clients.indices where !isStopping.load(ordering: .relaxed) {
                let turn = index / orders.count
                var order = orders[index % orders.count]
                if order == .questions, turn >= ground.parts.count { order = .fetches }
                // The server remembers what it has read for a question as long as the connection is there.
                if clients[index].isClosed || order == .questions && round % 4 == 3 {
                    clients[index] = try HostileClient(to: address, key)
                }
                try clients[index].go(order, turn, round * count + index, ground)
            }
            round += 1
            tell { $0.rounds = round }
        }
    }
}
