import Synchronization
import TransferClient

/// Passes bytes on between a client and a server, and cuts each connection after as many bytes as it was told, or passes no more on
/// until the client gives it up.
final class CuttingProxy: Sendable {
    /// Bytes that may pass; nothing means all.
    struct Cut: Sendable {
        var up: Int?
        var down: Int?

        /// Bytes behind which a server's welcome has passed, and no result.
        static let welcome = 112
        /// Whether it stays open then.
        var stalls = false
    }

    let port: UInt16
    private let listener: Wire
    private let count = Atomic<Int>(0)
    private let passed = Atomic<Int>(0)

    /// - Parameters:
    ///   - target: the server's port.
    ///   - cuts: for the first, second, third connection; the later ones are not cut.
    init(to target: UInt16, cuts: [Cut]) {
        let (listener, port) = Wire.listen()
        self.listener = listener
        self.port = port
        onThread { [self] in
            var cuts = cuts[...]
            while let client = listener.accept() {
                count.add(1, ordering: .relaxed)
                let cut = cuts.popFirst() ?? Cut()
                guard let server = Wire.connect(target) else { continue }
                onThread { [self] in
                    Self.pump(client, server, limit: cut.up) { passed.add($0, ordering: .relaxed) }
                    if cut.stalls { while client.receive() != nil {} }
                    client.cut()
                    server.cut()
                }
                onThread {
                    Self.pump(server, client, limit: cut.down) { _ in }
                    client.cut()
                    server.cut()
                }
            }
        }
    }

    /// Bytes that the server was given, over all connections.
    var passedUp: Int { passed.load(ordering: .relaxed) }

    var connections: Int { count.load(ordering: .relaxed) }

    var address: ServerAddress {
        get throws {
            guard let address = ServerAddress("127.0.0.1:\(port)") else { throw RunningServer.NotListening() }
            return address
        }
    }

    func stop() { listener.cut() }

    private static func pump(_ from: Wire, _ to: Wire, limit: Int?, _ passed: (Int) -> Void) {
        var left = limit ?? .max
        while left > 0, let bytes = from.receive(min(1 << 16, left)), to.send(bytes) {
            left -= bytes.count
            passed(bytes.count)
        }
    }
}
