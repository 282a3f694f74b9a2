import TransferSystem

/// All connections that are served, for whoever wants to know.
final class ConnectionList: Sendable {
    private let connections = Locked([Int: ConnectionProgress]())

    func add(_ progress: ConnectionProgress) {
        connections.withLock { $0[progress.number] = progress }
    }

    func remove(_ number: Int) {
        connections.withLock { _ = $0.removeValue(forKey: number) }
    }

    /// In the order in which they came.
    var all: [ConnectionProgress] { connections.withLock { Array($0.values) }.sorted { $0.number < $1.number } }
}
