import TransferSystem

/// Holds threads, as a disk does that answers nobody, until it is opened.
final class Gate: Sendable {
    private let monitor = Monitor((waiting: 0, isOpen: false))

    /// How many have come.
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
