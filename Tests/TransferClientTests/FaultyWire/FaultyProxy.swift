import Synchronization
import TransferClient

/// Relays bytes between clients and a server, and applies a planned set of faults to each connection.
final class FaultyProxy: Sendable {
    /// The faults of one connection by direction.
    struct Plan {
        var up = FaultPlan()
        var down = FaultPlan()
    }

    let port: UInt16
    private let listener: Wire

    /// - Parameters:
    ///   - target: the server's port.
    ///   - tally: counts the faults.
    ///   - plan: returns the faults of a connection, given its number from 0 on; one thread calls it.
    init(to target: UInt16, tally: FaultTally = FaultTally(), plan: @escaping @Sendable (Int) -> Plan) {
        let (listener, port) = Wire.listen()
        self.listener = listener
        self.port = port
        onThread {
            var count = 0
            while let client = listener.accept() {
                let plan = plan(count)
                count += 1
                guard let server = Wire.connect(target) else { continue }
                let isReset = Flag()
                onThread { FaultyPump(client, server, plan.up, isReset, tally).run() }
                onThread { FaultyPump(server, client, plan.down, isReset, tally).run() }
            }
        }
    }

    deinit {
        listener.cut()
    }

    var address: ServerAddress {
        get throws { try address("") }
    }

    func address(_ folder: String) throws -> ServerAddress {
        guard let address = ServerAddress("127.0.0.1:\(port)/\(folder)") else { throw RunningServer.NotListening() }
        return address
    }

    /// A flag that is set once and shared by the two directions of a connection.
    final class Flag: Sendable {
        private let value = Atomic(false)

        var isSet: Bool { value.load(ordering: .acquiring) }

        func set() { value.store(true, ordering: .releasing) }
    }
}
