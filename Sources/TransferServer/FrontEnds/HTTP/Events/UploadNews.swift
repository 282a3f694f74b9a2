import TransferIntake
import TransferModel
import TransferPorts
import TransferSystem

/// The uploads that were stored lately, for clients that listen to events. The last ones are kept, so that a client that lost its
/// connection for a moment misses none; each client only keeps its place among them.
final class UploadNews: AnswerSignal {
    /// An upload that has stored a file.
    struct Item: Sendable {
        /// The ID by which the server knows the upload.
        let id: UploadID
        /// Path in the server's directory.
        let path: RelativePath
        let kind: ContentKind
        /// Size of the content in bytes.
        let size: UInt64
        let digest: Digest?
        let isDurable: Bool
        /// Whether it has replaced other content.
        let isReplacing: Bool
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

    fileprivate struct State {
        /// The last items with numbers above `missed`; the place of an item follows from its number.
        var items: [Item] = []
        /// Number of the newest item; the first has 1.
        var newest: UInt64 = 0
        /// The last number that stands for items that were missed; 0 if none were.
        var missed: UInt64 = 0
        var watchers: [Int: @Sendable () -> Void] = [:]
    }

    /// Most items that are kept: with the longest paths, 5 MiB.
    static let most = 1024

    /// Distinguishes numbers of this server from those of earlier ones.
    let epoch = UInt64.random(in: .min ... .max)

    private let state = Locked(State())

    /// Says to other servers what this one has stored; nil if there are no others.
    private let announcement = Locked<(@Sendable ([Item]) -> Void)?>(nil)

    /// Number of clients that listen.
    var watchers: Int { state.withLock { $0.watchers.count } }

    var newest: UInt64 { state.withLock { $0.newest } }

    /// Adds items of this server, and announces them to other servers; called once for each batch of uploads.
    func post(_ items: [Item]) {
        guard !items.isEmpty else { return }
        add(items)
        announcement.withLock { $0 }?(items)
    }

    /// - Parameter announce: called, from any thread, with the items that this server adds; must not block.
    func announces(_ announce: @escaping @Sendable ([Item]) -> Void) { announcement.withLock { $0 = announce } }

    /// Adds items; those of other servers, too.
    func add(_ items: [Item]) {
        guard !items.isEmpty else { return }
        let rings = state.withLock { state in
            for item in items { state.add(item) }
            return Array(state.watchers.values)
        }
        for ring in rings { ring() }
    }

    /// Notes that items of other servers may have been missed. Clients learn that as if the items were no longer kept.
    func miss() {
        let rings = state.withLock { state in
            state.newest += 1
            (state.missed, state.items) = (state.newest, [])
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
            guard number <= state.newest, number >= state.missed, state.newest - number <= UInt64(Self.most) else {
                return Found(items: [], isLost: true, newest: state.newest)
            }
            let count = min(UInt64(max(0, limit)), state.newest - number)
            let items = (0..<count).map { offset in
                let number = number + 1 + offset
                return (number, state.items[state.place(of: number)])
            }
            return Found(items: items, isLost: false, newest: state.newest)
        }
    }

}

extension UploadNews.State {
    fileprivate mutating func add(_ item: UploadNews.Item) {
        newest += 1
        if items.count < UploadNews.most { items.append(item) } else { items[place(of: newest)] = item }
    }

    /// - Parameter number: above `missed`.
    fileprivate func place(of number: UInt64) -> Int { Int((number - 1 - missed) % UInt64(UploadNews.most)) }
}

extension UploadNews.Item {
    init(_ stored: Acknowledgement, client: UInt64?, seconds: Double) {
        self.init(
            id: stored.id, path: stored.path, kind: stored.kind, size: stored.size, digest: stored.digest,
            isDurable: stored.isDurable, isReplacing: stored.replaced == .other, client: client, seconds: seconds)
    }

    /// An upload that another server has acknowledged.
    ///
    /// - Returns: nil if the file is not under its path any more.
    init?(_ entry: CatalogEntry) {
        guard entry.state == .committed, let path = RelativePath(stored: entry.path) else { return nil }
        let duration = entry.committed.subtractingReportingOverflow(entry.begun)
        self.init(
            id: entry.id, path: path, kind: entry.kind, size: entry.size, digest: entry.digest,
            isDurable: entry.isDurable, isReplacing: entry.hasReplaced, client: entry.client,
            seconds: duration.overflow ? 0 : Double(max(0, duration.partialValue)) / 1e9)
    }
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
