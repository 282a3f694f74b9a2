public import TransferModel
import TransferProtocol
import TransferSystem

/// How a change of names on the server ended.
public struct ChangeReport: Sendable, Equatable {
    /// The path as the caller gave it.
    public let path: String

    /// `completed`, or why the change was not made.
    public let result: ResultCode

    /// Whether the change was synced to disk.
    public let isDurable: Bool

    /// A sentence for people; may be empty.
    public let message: String

    /// The form of the entry that a copy of a tree made, if known; nil for other changes.
    public let form: EntryForm?

    /// The batch in the server's trash that keeps the replaced entry; nil if no entry was replaced, if it is not kept,
    /// or if the server does not say.
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
    /// Whether the request was sent before, on a connection that was lost: then the change may have been made already.
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
