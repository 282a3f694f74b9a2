import TransferIntake
import TransferModel
import TransferSystem

/// The uploads that were stored lately, for clients that listen to events. The last ones are kept, so that a client that lost its
/// connection for a moment misses none; each client only keeps its place among them.
final class UploadNews: AnswerSignal {
    /// An upload that has stored a file.
    struct Item: Sendable {
        /// The acknowledgement, with the server's ID and path.
        let acknowledgement: Acknowledgement
        /// The client that sent it; nil if the server cannot distinguish clients.
        let client: UInt64?
        /// Seconds from its beginning to its acknowledgement.
        let seconds: Double
    }

    /// The items after a given number.
    struct Found: Sendable {
        let items: [(number: UInt64, item: Item)]
        /// Whether items after the number are no longer kept.
        let isLost: Bool
        /// Number of the newest item.
        let newest: UInt64
    }

    private struct State {
        var items: [Item] = []
        /// Number of the newest item; the first has 1.
        var newest: UInt64 = 0
        var watchers: [Int: @Sendable () -> Void] = [:]
    }

    /// Most items that are kept: with the longest paths, 5 MiB.
    static let most = 1024

    /// Distinguishes numbers of this server from those of earlier ones.
    let epoch = UInt64.random(in: .min ... .max)

    private let state = Locked(State())

    /// Number of clients that listen.
    var watchers: Int { state.withLock { $0.watchers.count } }

    var newest: UInt64 { state.withLock { $0.newest } }

    /// Adds items; called once for each batch of uploads.
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

    /// - Parameter ring: called from any thread when there are new items; must not block.
    func watch(_ connection: Int, _ ring: @escaping @Sendable () -> Void) {
        state.withLock { $0.watchers[connection] = ring }
    }

    func leave(_ connection: Int) {
        state.withLock { _ = $0.watchers.removeValue(forKey: connection) }
    }

    /// - Parameters:
    ///   - number: of the last item that was seen.
    ///   - limit: most items to return.
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

/// The uploads that are under way, for clients that want to see their progress. The connections are read at most twice a second, however
/// many clients ask.
final class RunningUploads: Sendable {
    struct Upload: Sendable, Equatable {
        /// The server's ID of the upload.
        let id: UploadID
        let client: UInt64?
        /// Path in the server's directory.
        let path: String
        let received: UInt64
        let size: UInt64?
    }

    /// Nanoseconds for which a list is valid.
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
    /// Nil for a part of a multipart upload, which says nothing of the whole.
    fileprivate init?(_ current: ConnectionProgress.Current?) {
        guard let current, !current.isPart else { return nil }
        self.init(
            id: current.id, client: current.client, path: current.path, received: current.received, size: current.size)
    }
}
