import TransferIntake
import TransferModel
import TransferSystem

/// What was stored of late, for clients that want to hear of it as it happens. The last ones are kept, so that who was away for a
/// moment misses nothing; a client has no more of its own here than a place among them.
final class UploadNews: Sendable {
    /// An upload that has stored something.
    struct Item: Sendable {
        /// What was acknowledged, with the server's id and path.
        let acknowledgement: Acknowledgement
        /// Who has sent it; nothing for one that cannot be told from others.
        let client: UInt64?
        /// Seconds from its beginning on.
        let seconds: Double
    }

    /// What there is behind a place.
    struct Found: Sendable {
        let items: [(number: UInt64, item: Item)]
        /// Whether some between are no longer there.
        let isLost: Bool
        /// The number of the newest item that there is.
        let newest: UInt64
    }

    private struct State {
        var items: [Item] = []
        /// Of the newest one; they begin with 1.
        var newest: UInt64 = 0
        var watchers: [Int: @Sendable () -> Void] = [:]
    }

    /// Items that are kept: with the longest paths, 5 MiB.
    static let most = 1024

    /// Tells the numbers of this server from those of others, which ran before it.
    let epoch = UInt64.random(in: .min ... .max)

    private let state = Locked(State())

    /// Clients that are told.
    var watchers: Int { state.withLock { $0.watchers.count } }

    var newest: UInt64 { state.withLock { $0.newest } }

    /// Called once for each batch of uploads.
    func post(_ items: [Item]) {
        guard !items.isEmpty else { return }
        let rings = state.withLock { state in
            for item in items {
                state.newest += 1
                if state.items.count < Self.most {
                    state.items.append(item)
                } else {
                    state.items[Self.place(of: state.newest)] = item
                }
            }
            return Array(state.watchers.values)
        }
        for ring in rings { ring() }
    }

    /// - Parameter ring: is called from any thread when there is something new; must not block.
    func watch(_ connection: Int, _ ring: @escaping @Sendable () -> Void) {
        state.withLock { $0.watchers[connection] = ring }
    }

    func leave(_ connection: Int) {
        state.withLock { _ = $0.watchers.removeValue(forKey: connection) }
    }

    /// - Parameters:
    ///   - number: that was seen last.
    ///   - limit: of items.
    func items(after number: UInt64, limit: Int) -> Found {
        state.withLock { state in
            guard number <= state.newest, state.newest - number <= UInt64(Self.most) else {
                return Found(items: [], isLost: true, newest: state.newest)
            }
            let count = min(UInt64(max(0, limit)), state.newest - number)
            let items = (0..<count).map { offset in
                let number = number + 1 + offset
                return (number, state.items[Self.place(of: number)])
            }
            return Found(items: items, isLost: false, newest: state.newest)
        }
    }

    private static func place(of number: UInt64) -> Int { Int((number - 1) % UInt64(most)) }
}

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
