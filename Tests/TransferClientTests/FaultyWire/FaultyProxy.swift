import Synchronization
import TransferClient

/// Passes bytes on between clients and a server, and does to them what was planned for each connection.
final class FaultyProxy: Sendable {
    /// What happens to one connection.
    struct Plan {
        var up = FaultPlan()
        var down = FaultPlan()
    }

    let port: UInt16
    private let listener: Wire

    /// - Parameters:
    ///   - target: the server's port.
    ///   - tally: counts the faults.
    ///   - plan: for the first, second, third connection; called by one thread.
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

    /// Set once; shared by the two directions of a connection.
    final class Flag: Sendable {
        private let value = Atomic(false)

        var isSet: Bool { value.load(ordering: .acquiring) }

        func set() { value.store(true, ordering: .releasing) }
    }
}
