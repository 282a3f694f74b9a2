import TransferSystem

/// All connections that are served, for the status and the metrics.
final class ConnectionList: Sendable {
    private let connections = Locked([Int: ConnectionProgress]())

    func add(_ progress: ConnectionProgress) {
        connections.withLock { $0[progress.number] = progress }
    }

    func remove(_ number: Int) {
        connections.withLock { _ = $0.removeValue(forKey: number) }
    }

    /// The connections in the order of accepting.
    var all: [ConnectionProgress] { connections.withLock { Array($0.values) }.sorted { $0.number < $1.number } }
}
