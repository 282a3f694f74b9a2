import TransferIO
import TransferSystem

/// The loops of a client's connections. One is enough for most of what a client does. What arrives over several connections
/// with TLS is more than one thread can decrypt as fast as it comes, so every other of them lives on a second loop, which is
/// made when it is first needed.
final class ClientLoops: Sendable {
    let main: EventLoop
    private let second = Locked<EventLoop?>(nil)

    /// - Throws: when the process has no descriptors or threads left.
    init() throws(SystemError) {
        main = try EventLoop(name: "transfer-client")
    }

    deinit {
        main.stop()
        second.withLock { $0?.stop() }
    }

    /// - Parameter connection: its number among those of one task, from 0.
    func loop(for connection: Int) -> EventLoop {
        guard !connection.isMultiple(of: 2) else { return main }
        return second.withLock { second in
            // Without another thread it goes on with one.
            if second == nil { second = try? EventLoop(name: "transfer-second") }
            return second ?? main
        }
    }
}
