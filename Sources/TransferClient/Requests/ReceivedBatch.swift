import TransferConnection
import TransferIO
import TransferModel
import TransferProtocol

/// One receive buffer on its way to the pool, with the answers that were found in it, in order.
///
/// `@unchecked Sendable`: the session fills it, then hands it over and never touches it again.
final class ReceivedBatch: PipedBatch, @unchecked Sendable {
    /// A piece of an answer; content stays in the buffer.
    enum Piece {
        case entries([ListedEntry])
        case persons([ListedPerson])
        case deliveries([ListedDelivery])
        case file(FetchedFile)
        case data(DataPiece)
        case block(BlockDigest)
        case end(End)
        case outcome(Outcome)
    }

    /// Pieces in one batch at most, so that small frames don't take many times their size in memory.
    static let mostPieces = 4096

    var input: ReceiveBuffer
    var pieces: [(PendingRequest, Piece)] = []

    /// How many of the pieces were given to the requests that they answer.
    private var given = 0

    init(_ buffer: BlockBuffer, carry: [UInt8]) {
        input = ReceiveBuffer(buffer, carry: carry)
    }

    init(after batch: ReceivedBatch) {
        input = batch.input
    }

    var isEmpty: Bool { pieces.isEmpty }

    var isComplete: Bool { pieces.count >= Self.mostPieces }

    /// Adds content whose range counts from the first unparsed byte. Adjacent pieces of one frame are joined, because
    /// each piece costs a call to the disk.
    func append(_ piece: DataPiece, of owner: PendingRequest) {
        var placed = piece
        placed.range = input.placed(piece.range)
        if case (let last, .data(let before))? = pieces.last, last === owner, let joined = before.joined(with: placed) {
            pieces[pieces.count - 1].1 = .data(joined)
        } else {
            pieces.append((owner, .data(placed)))
        }
    }

    /// Gives the pieces to the requests that they answer.
    ///
    /// - Parameters:
    ///   - expansion: decompresses for this connection.
    ///   - unwanted: called with requests that need no more of their answer.
    /// - Throws: how the server broke the protocol.
    func take(_ expansion: DataExpansion, unwanted: (PendingRequest) -> Void) throws(ProtocolFault) {
        for (asked, piece) in pieces {
            switch try give(piece, to: asked, expansion) {
            case .wanted: break
            case .unwanted: unwanted(asked)
            case .fault(let fault): throw fault
            }
            given += 1
        }
    }

    /// Requests whose pieces were not given to them because the server broke the protocol in these pieces or before.
    var withheld: [PendingRequest] { pieces[given...].map(\.0) }

    /// Whether the end of any answer was given to its request.
    var hasGivenAnswer: Bool {
        pieces[..<given].contains { piece in
            switch piece.1 {
            case .end, .outcome: true
            default: false
            }
        }
    }

    private func give(
        _ piece: Piece, to asked: PendingRequest, _ expansion: DataExpansion
    ) throws(ProtocolFault) -> Taken {
        let answer = asked.answer
        switch piece {
        case .entries(let entries): return answer.take(entries)
        case .persons(let persons): return answer.take(persons)
        case .deliveries(let deliveries): return answer.take(deliveries)
        case .file(let file): return answer.begin(file)
        case .data(let piece): return try give(piece, to: answer, expansion)
        case .block(let block): return answer.check(block)
        case .end(let end): answer.end(end)
        case .outcome(let outcome):
            guard !outcome.code.isSuccess || asked.request.canEnd(with: outcome.code) else {
                let sentence =
                    "The server answered with '\(outcome.code.name)', which does not say that the "
                    + "request was carried out."
                return .fault(ProtocolFault(.unexpectedFrame, sentence))
            }
            answer.end(outcome)
        }
        return .wanted
    }

    private func give(
        _ piece: DataPiece, to answer: any AnswerTaker, _ expansion: DataExpansion
    ) throws(ProtocolFault) -> Taken {
        var taken = Taken.wanted
        try expansion.expand(piece, input.bytes(piece.range), fault: { $0 }) {
            (content, isHole) throws(ProtocolFault) in
            taken = isHole ? answer.takeHole(content) : answer.take(content)
            if case .fault(let fault) = taken { throw fault }
        }
        return taken
    }
}

extension Request {
    /// Whether this success code can end the answer to the request. A fetch ends with its content, and with an outcome
    /// only if the content cannot be sent.
    fileprivate func canEnd(with code: ResultCode) -> Bool {
        switch self {
        case .compare: [.completed, .alreadyStored].contains(code)
        case .fetch: false
        default: code == .completed
        }
    }
}
