import TransferIO
import TransferSystem

/// The loops of a client's connections. One is enough for most work. With TLS, one thread cannot decrypt what several
/// connections receive, so every second connection uses a second loop, which is created when first needed.
final class ClientLoops: Sendable {
    let main: EventLoop
    private let second = Locked<EventLoop?>(nil)

    /// - Throws: if the process has no descriptors or threads left.
    init() throws(SystemError) {
        main = try EventLoop(name: "transfer-client")
    }

    deinit {
        main.stop()
        second.withLock { $0?.stop() }
    }

    /// - Parameter connection: the connection's number within its task, from 0.
    func loop(for connection: Int) -> EventLoop {
        guard !connection.isMultiple(of: 2) else { return main }
        return second.withLock { second in
            // If no other thread can be created, the first one serves all connections.
            if second == nil { second = try? EventLoop(name: "transfer-second") }
            return second ?? main
        }
    }
}
