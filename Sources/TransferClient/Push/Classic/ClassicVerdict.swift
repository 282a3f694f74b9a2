import TransferClassic
import TransferModel

/// What became of an upload, as far as the other side says it.
enum ClassicVerdict: Equatable {
    /// It says that it has it, and nothing else.
    case stored
    /// It says that it doesn't have it, and not why.
    case failed
    /// It says what our own servers say: one of their successes, or why not.
    case result(ClassicResult)
}

/// What an answer means.
enum ClassicHeard: Equatable {
    /// The bytes end before the next thing is complete; nothing was consumed.
    case needsMore
    case nothing
    /// Something to send.
    case reply([UInt8])
    /// The end of the upload that is under way.
    case verdict(ClassicVerdict)
    /// A sentence of the other side's.
    case remark(String)
    /// The other side is done.
    case close
}
