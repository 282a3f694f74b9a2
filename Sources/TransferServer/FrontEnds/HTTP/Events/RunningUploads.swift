import TransferModel
import TransferSystem

/// What uploads are under way, for clients that want to see how far theirs are. Looked at seldom, however many ask.
final class RunningUploads: Sendable {
    struct Upload: Sendable, Equatable {
        /// The server's.
        let id: UploadID
        let client: UInt64?
        /// In the server's directory.
        let path: String
        let received: UInt64
        let size: UInt64?
    }

    /// Nanoseconds for which a look counts.
    private static let interval: Int64 = 500_000_000

    private let latest = Locked((uploads: [Upload](), next: Int64.min))
    private let connections: ConnectionList

    init(_ connections: ConnectionList) {
        self.connections = connections
    }

    /// - Parameter now: nanoseconds of the monotonic clock.
    func present(at now: Int64 = monotonicNanoseconds()) -> [Upload] {
        latest.withLock { latest in
            guard now >= latest.next else { return latest.uploads }
            latest = (connections.all.compactMap { Upload($0.present.current) }, now + Self.interval)
            return latest.uploads
        }
    }
}

extension RunningUploads.Upload {
    /// Of one in parts, what a connection has of it says nothing of the whole.
    fileprivate init?(_ current: ConnectionProgress.Current?) {
        guard let current, !current.isPart else { return nil }
        self.init(
            id: current.id, client: current.client, path: current.path, received: current.received, size: current.size)
    }
}
