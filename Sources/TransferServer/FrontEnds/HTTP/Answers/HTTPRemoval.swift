import TransferIO
import TransferModel
import TransferStore

/// The answer to a removal, which is given when it is durable that all is gone. Belongs to one task at a time.
final class HTTPRemoval: HTTPAnswer {
    let path: String
    let headComesFirst = false
    private let removal: Removal
    private let files: ConnectionFiles
    private var gone: UInt64 = 0
    private var isGone = false

    /// - Parameter path: as the client knows it.
    init(_ path: String, _ removal: Removal, _ files: ConnectionFiles) {
        (self.path, self.removal, self.files) = (path, removal, files)
    }

    func head(isLast: Bool) -> [UInt8] { HTTPAnswers.head(204, [], isLast: isLast) }

    func fill(_ outcome: inout HTTPOutcome, from pool: BufferPool) throws(Failure) -> Bool {
        if !isGone { isGone = try files.goOn(removal, gone: &gone) }
        // A large folder is removed some names at a time, and others have their turn between.
        guard isGone else { return false }
        try files.commit([removal])
        return true
    }

    func events(peer: String) -> [LogEvent] { [.removed(path, gone, peer: peer)] }
}
