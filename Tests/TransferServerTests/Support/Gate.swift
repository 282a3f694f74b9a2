import TransferSystem

/// Holds threads until it is opened, like a disk that does not answer.
final class Gate: Sendable {
    private let monitor = Monitor((waiting: 0, isOpen: false))

    /// Number of threads that have reached the gate.
    var waiting: Int { monitor.withLock { monitor.state.waiting } }

    func pass() {
        monitor.lock()
        defer { monitor.unlock() }
        monitor.state.waiting += 1
        while !monitor.state.isOpen { monitor.wait() }
    }

    func open() {
        monitor.withLock { monitor.state.isOpen = true }
        monitor.wakeAll()
    }
}
