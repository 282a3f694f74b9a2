import TransferModel
import TransferProtocol
import TransferStore

/// The answer to a request, made step by step. Belongs to one task at a time.
protocol RequestAnswer {
    /// Of the request.
    var id: UInt32 { get }

    /// What the log calls it.
    var subject: String { get }

    /// Whether the client wants to hear of what comes later.
    var watches: Bool { get }

    /// Fills the chunk as far as it can, or does as much as is to be done in one turn.
    ///
    /// - Returns: how it ended, when that was all.
    func fill(_ chunk: FrameChunk) throws(Failure) -> Outcome?

    /// What there is to say of it in the log, when all is done.
    func events(peer: String) -> [LogEvent]
}

extension RequestAnswer {
    var watches: Bool { false }

    func events(peer: String) -> [LogEvent] { [] }
}
