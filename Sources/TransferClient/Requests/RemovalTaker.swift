public import TransferModel
import TransferProtocol
import TransferSystem

/// How the removal of one path ended.
public struct RemovalReport: Sendable, Equatable {
    /// The path as the caller gave it.
    public let path: String

    /// `completed`, or why the entry was not removed.
    public let result: ResultCode

    /// Number of files removed; 1 for anything that went to the trash.
    public let files: UInt64

    /// Whether the entry is in the server's trash, as far as the server says.
    public let isInTrash: Bool

    /// Whether the removal was synced to disk.
    public let isDurable: Bool

    /// A sentence for people; may be empty.
    public let message: String

    package init(
        path: String, result: ResultCode, files: UInt64 = 0, isInTrash: Bool = false, isDurable: Bool = false,
        message: String = ""
    ) {
        (self.path, self.result, self.files, self.isInTrash) = (path, result, files, isInTrash)
        (self.isDurable, self.message) = (isDurable, message)
    }
}

/// Takes the answer to a removal.
final class RemovalTaker: AnswerTaker {
    private let path: String
    private let request: RemoveRequest
    private let context: RequestContext
    private let queue: RequestQueue
    private let events: EventQueue<RemovalReport>
    /// Whether the request was sent before, on a connection that was lost: then the entry may be removed already.
    private let wasLost = Locked(false)

    init(
        _ path: String, _ request: RemoveRequest, _ context: RequestContext, _ queue: RequestQueue,
        _ events: EventQueue<RemovalReport>
    ) {
        (self.path, self.request, self.context) = (path, request, context)
        (self.queue, self.events) = (queue, events)
    }

    /// The request whose answer this taker takes.
    var asked: PendingRequest {
        PendingRequest(.remove(request), self)
    }

    func end(_ outcome: Outcome) {
        let isGone = outcome.code == .notFound && wasLost.withLock { $0 }
        events.send(
            RemovalReport(
                path: path, result: isGone ? .completed : outcome.code, files: outcome.count,
                isInTrash: outcome.code == .completed && goesToTrash, isDurable: outcome.isDurable,
                message: isGone ? "" : outcome.message))
        queue.answered()
    }

    private var goesToTrash: Bool {
        request.trash == nil && (request.keepsInTrash || queue.welcome?.features.contains(.trashes) ?? false)
    }

    func lost() {
        wasLost.withLock { $0 = true }
        queue.again(asked)
    }
}
