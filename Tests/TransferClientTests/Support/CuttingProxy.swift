import Synchronization
import TransferClient

/// Relays bytes between a client and a server. After a limit for each connection, it cuts the connection or relays no
/// more bytes until the client gives up.
final class CuttingProxy: Sendable {
    /// Bytes that may pass in each direction; nil for all.
    struct Cut: Sendable {
        var up: Int?
        var down: Int?

        /// Bytes after which a server's welcome has passed, but no result.
        static let welcome = 112
        /// Whether the connection stays open after the limit.
        var stalls = false
    }

    let port: UInt16
    private let listener: Wire
    private let count = Atomic<Int>(0)
    private let passed = Atomic<Int>(0)

    /// - Parameters:
    ///   - target: the server's port.
    ///   - cuts: limits for the first, second, third connection; later ones have none.
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

    /// Bytes passed to the server over all connections.
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
