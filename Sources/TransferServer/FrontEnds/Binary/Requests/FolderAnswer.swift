import TransferCodec
import TransferIntake
import TransferModel
import TransferProtocol
import TransferStore

/// The answer to a `compare`: some files for each turn, because a folder may have any number of them.
final class FolderAnswer: RequestAnswer {
    /// What is compared with the client's digest.
    enum Subject {
        /// What was acknowledged.
        case uploads(FolderComparison, isDurable: Bool)
        /// What is there.
        case entries(StoredListing)
    }

    private let request: CompareRequest
    private let compared: Subject
    private var entries = FolderDigester()
    private var isSame = false

    /// Files and folders looked at in one turn.
    private static let entriesAtOnce = 512

    init(_ request: CompareRequest, _ subject: Subject) {
        (self.request, compared) = (request, subject)
    }

    var id: UInt32 { request.id }
    var subject: String { request.path }

    func fill(_ chunk: FrameChunk) throws(Failure) -> Outcome? {
        guard chunk.takesMessage, let isSame = try step() else { return nil }
        self.isSame = isSame
        guard isSame else { return Outcome(id: id, code: .completed) }
        var isDurable = false
        if case .uploads(_, let durable) = compared { isDurable = durable }
        return Outcome(id: id, code: .alreadyStored, isDurable: isDurable, count: UInt64(request.digest.count))
    }

    /// - Returns: whether it is the same, once that is known.
    private func step() throws(Failure) -> Bool? {
        switch compared {
        case .uploads(let comparison, _): return comparison.step()
        case .entries(let listing):
            let found = try listing.forEach(Self.entriesAtOnce) { name, attributes in entries.add(name, attributes) }
            guard found < Self.entriesAtOnce else { return entries.count > request.digest.count ? false : nil }
            // The client has nothing that it could be the same as.
            return listing.unlisted == 0 && entries.digest == request.digest
        }
    }

    func events(peer: String) -> [LogEvent] {
        guard isSame, case .uploads = compared else { return [] }
        return [.known(Int(clamping: request.digest.count), peer: peer)]
    }
}
