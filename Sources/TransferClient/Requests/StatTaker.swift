public import TransferModel
import TransferProtocol
import TransferSystem

/// The entry under a path on the server.
public struct StatReport: Sendable, Equatable {
    /// The path as the caller gave it.
    public let path: String

    /// The entry; nil if the path does not exist.
    public let entry: RemoteEntry?

    /// `completed`, or why the entry is unknown.
    public let result: ResultCode

    /// A sentence for people; may be empty.
    public let message: String
}

/// Takes the answer to a question about one path.
final class StatTaker: AnswerTaker {
    private let path: String
    private let remote: String
    /// The trash batch that the path is in; nil for a stored file.
    private let trash: TrashPlace?
    private let wantsAll: Bool
    private let queue: RequestQueue
    private let events: EventQueue<StatReport>
    private let entry = Locked<ListedEntry?>(nil)

    /// - Parameter remote: the path including the folder of the server's address.
    init(
        _ path: String, remote: String, _ queue: RequestQueue, _ events: EventQueue<StatReport>,
        trash: TrashPlace? = nil, wantsAll: Bool = false
    ) {
        (self.path, self.remote, self.queue, self.events) = (path, remote, queue, events)
        (self.trash, self.wantsAll) = (trash, wantsAll)
    }

    /// The request whose answer this taker takes.
    var asked: PendingRequest {
        PendingRequest(
            .list(
                ListRequest(
                    path: remote, isAboutItself: true, wantsDetails: true, wantsAll: wantsAll, trash: trash)), self)
    }

    func take(_ entries: [ListedEntry]) -> Taken {
        if let first = entries.first { entry.withLock { $0 = first } }
        return .wanted
    }

    func end(_ outcome: Outcome) {
        let entry = entry.withLock { $0 }.map { RemoteEntry(path, $0) }
        let isGood = outcome.code == .completed && entry != nil
        events.send(
            StatReport(
                path: path, entry: isGood ? entry : nil,
                result: isGood || outcome.code != .completed ? outcome.code : .notFound, message: outcome.message))
        queue.answered()
    }

    func lost() {
        queue.again(asked)
    }
}
