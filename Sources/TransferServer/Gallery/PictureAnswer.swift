import TransferGallery
import TransferIntake
import TransferModel
import TransferPorts
import TransferProtocol

/// The answer to a `list` that asks for what a picture says about itself and whether it can be decoded. Used by one task at a time.
final class PictureAnswer: RequestAnswer {
    private let request: ListRequest
    private let path: RelativePath
    private let entry: ListedEntry
    private let state: State

    private enum State {
        case known(PictureReport)
        case ordered(ThumbnailTicket)
    }

    /// - Throws: also `busy` if too many pictures wait.
    init(
        _ request: ListRequest, at path: RelativePath, _ files: ConnectionFiles, _ gallery: Gallery,
        for client: AccountHolder?
    ) throws(Failure) {
        let question = try PictureQuestion(at: path, files)
        (self.request, self.path) = (request, path)
        var entry = ListedEntry(String(path.name), question.content.attributes, nil)
        entry.digest = question.digest
        self.entry = entry
        if let verdict = question.verdict(gallery) {
            state = .known(verdict)
        } else {
            state = .ordered(try question.order(.small, gallery, for: client))
        }
    }

    var id: UInt32 { request.id }
    var subject: String { request.path }

    var signal: (any AnswerSignal)? {
        if case .ordered(let ticket) = state, ticket.outcome == nil { ticket } else { nil }
    }

    /// Decoding takes up to a minute, in which the client may lose its rights, or another folder may become its own.
    func recheck(_ caller: Caller) throws(Failure) {
        guard try caller.place(of: request) == path else { throw .notFound(path) }
    }

    func fill(_ chunk: AnswerChunk) throws(Failure) -> Outcome? {
        guard chunk.takesMessage, let report = try report() else { return nil }
        chunk.append(.entries(Entries(id: id, [entry])))
        var outcome = Outcome(id: id, code: .completed, count: 1)
        outcome.picture = report.description.text
        return outcome
    }

    /// - Returns: nil while the picture waits for its decoder.
    private func report() throws(Failure) -> PictureReport? {
        switch state {
        case .known(let report): return report
        case .ordered(let ticket):
            switch ticket.outcome {
            case .report(let report)?: return report
            case .unavailable(let reason)?: throw Failure(.busy, reason)
            case nil: return nil
            }
        }
    }
}
