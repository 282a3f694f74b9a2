import TransferIO
import TransferModel
import TransferStore

/// The answer to a removal of what has gone to the trash, which is given when that is durable. Belongs to one task at a time.
final class HTTPDiscard: HTTPAnswer {
    let path: String
    let headComesFirst = false
    private let changes: ConnectionChanges

    /// - Parameter path: as the client knows it.
    init(_ path: String, _ changes: ConnectionChanges) {
        (self.path, self.changes) = (path, changes)
    }

    func head(isLast: Bool) -> [UInt8] { HTTPAnswers.head(204, [], isLast: isLast) }

    func fill(_ outcome: inout HTTPOutcome, from pool: BufferPool) throws(Failure) -> Bool {
        for result in changes.commit() { _ = try result.get() }
        return true
    }

    func events(peer: String) -> [LogEvent] { [.discarded(path, peer: peer)] }
}
