import TransferIntake
import TransferModel
import TransferProtocol
import TransferStore

/// The answer to a `compare`: some files for each turn, because a folder may have any number of them.
final class FolderAnswer: RequestAnswer {
    private let request: CompareRequest
    private let comparison: FolderComparison
    private let isDurable: Bool
    private var isSame = false

    /// - Parameter isDurable: whether what the store holds is.
    init(_ request: CompareRequest, _ comparison: FolderComparison, isDurable: Bool) {
        (self.request, self.comparison, self.isDurable) = (request, comparison, isDurable)
    }

    var id: UInt32 { request.id }
    var subject: String { request.path }

    func fill(_ chunk: FrameChunk) throws(StoreError) -> Outcome? {
        guard chunk.takesMessage, let isSame = comparison.step() else { return nil }
        self.isSame = isSame
        guard isSame else { return Outcome(id: id, code: .completed) }
        return Outcome(id: id, code: .alreadyStored, isDurable: isDurable, count: UInt64(request.digest.count))
    }

    func events(peer: String) -> [LogEvent] {
        isSame ? [.known(Int(clamping: request.digest.count), peer: peer)] : []
    }
}
