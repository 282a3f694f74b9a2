public import TransferModel
import TransferProtocol
import TransferSystem

/// How a change of names on the server ended.
public struct ChangeReport: Sendable, Equatable {
    /// As it was asked for.
    public let path: String

    /// `completed`, or why it was not done.
    public let result: ResultCode

    /// Whether that was synced to disk.
    public let isDurable: Bool

    /// A sentence for people; empty when there is nothing to say.
    public let message: String

    /// What a copy of a tree has made, where that is known; nothing for other changes.
    public let form: EntryForm?

    /// The part of the server's trash that has what gave way; nil where nothing did, where it is not kept, or where the server does not say.
    public let trash: TrashedBatch?

    package init(
        path: String, result: ResultCode, isDurable: Bool = false, message: String = "", form: EntryForm? = nil,
        trash: TrashedBatch? = nil
    ) {
        (self.path, self.result, self.isDurable) = (path, result, isDurable)
        (self.message, self.form, self.trash) = (message, form, trash)
    }
}

/// Takes the answer to a request that changes names.
final class ChangeTaker: AnswerTaker {
    private let path: String
    private let request: Request
    private let queue: RequestQueue
    private let events: EventQueue<ChangeReport>
    /// Whether it was asked before, on a connection that was lost: then it may be done already.
    private let wasLost = Locked(false)

    init(_ path: String, _ request: Request, _ queue: RequestQueue, _ events: EventQueue<ChangeReport>) {
        (self.path, self.request, self.queue, self.events) = (path, request, queue, events)
    }

    var asked: PendingRequest { PendingRequest(request, self) }

    func end(_ outcome: Outcome) {
        let isDone = outcome.code == .notFound && wasLost.withLock { $0 }
        events.send(
            ChangeReport(
                path: path, result: isDone ? .completed : outcome.code, isDurable: outcome.isDurable,
                message: isDone ? "" : outcome.message, trash: outcome.trash.map { TrashedBatch($0) }))
        queue.answered()
    }

    func lost() {
        wasLost.withLock { $0 = true }
        queue.again(asked)
    }
}
