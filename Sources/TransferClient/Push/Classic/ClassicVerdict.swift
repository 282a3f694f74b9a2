import TransferClassic
import TransferModel

/// The server's verdict on an upload.
enum ClassicVerdict: Equatable {
    /// The server says only that it has the content.
    case stored
    /// The server says that it does not have the content, and gives no reason.
    case failed
    /// A result as Transfer servers send it: a success, or the reason of a failure.
    case result(ClassicResult)
}

/// The meaning of an answer.
enum ClassicHeard: Equatable {
    /// The bytes end before an answer is complete; nothing was consumed.
    case needsMore
    case nothing
    /// Bytes to send back to the server.
    case reply([UInt8])
    /// The result of the upload under way.
    case verdict(ClassicVerdict)
    /// A sentence from the server.
    case remark(String)
    /// The server is ending the connection.
    case close
}
