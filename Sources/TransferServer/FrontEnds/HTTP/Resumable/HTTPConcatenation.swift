import TransferHTTP
import TransferIO
import TransferIntake
import TransferModel
import TransferStore

/// The answer to an upload that is made of others (tus 1.0.0, concatenation): they are put one behind the other, some bytes at a
/// time, and the answer comes when all of it is stored. Belongs to one task at a time.
final class HTTPConcatenation: HTTPAnswer {
    let headComesFirst = false
    private let whole: HTTPAppend
    private let uploads: ConnectionUploads
    private let files: ConnectionFiles
    private let client: Caller
    private var pieces: ArraySlice<(id: UploadID, size: UInt64)>
    /// Bytes of the first of them that are there.
    private var taken: UInt64 = 0

    /// Bytes that are put there before others have their turn.
    private static let step: UInt64 = 16 << 20

    var path: String { whole.intent.path }

    init(
        _ whole: HTTPAppend, _ pieces: [(id: UploadID, size: UInt64)], _ uploads: ConnectionUploads,
        _ files: ConnectionFiles
    ) {
        (self.whole, self.pieces, self.uploads, self.files) = (whole, pieces[...], uploads, files)
        client = uploads.intake.caller
    }

    func head(isLast: Bool) -> [UInt8] {
        guard case .acknowledged(let acknowledgement)? = whole.outcome else {
            let refusal = refusal
            return HTTPAnswers.problem(
                refusal.status, refusal.code, refusal.message, refusal.fields, for: .post, isLast: isLast)
        }
        let reply = whole.reply(
            acknowledgement, client,
            whole.wantsReceipt ? uploads.intake.receipt(of: acknowledgement.id) : nil)
        return HTTPAnswers.whole(
            reply.status, reply.fields, reply.body, type: reply.type ?? "application/json", for: .post, isLast: isLast)
    }

    private var refusal: HTTPRefusal {
        guard let outcome = whole.outcome else {
            return HTTPRefusal(500, .storageFailed, "The server lost track of the upload: send it again.")
        }
        return whole.refusal(outcome, client)
    }

    func fill(_ outcome: inout HTTPOutcome, from pool: BufferPool) throws(Failure) -> Bool {
        if whole.outcome == nil, let piece = pieces.first {
            try take(from: piece)
            return whole.outcome != nil
        }
        uploads.take { (open) throws(Failure) in try whole.checkConditions(files, open) }
        if whole.outcome == nil {
            uploads.end(DeclaredEnd())
            uploads.publish()
            _ = uploads.acknowledge()
        }
        return true
    }

    private func take(from piece: (id: UploadID, size: UInt64)) throws(Failure) {
        let end = min(piece.size, taken.addingClamped(Self.step))
        if taken < end {
            let isThere = try uploads.intake.read(append: piece.id, taken..<end) { (bytes) in
                uploads.take { (open) throws(Failure) in try open.append(bytes) }
            }
            guard isThere else {
                uploads.abort()
                throw Failure(.notFound, "A piece of the upload has gone.")
            }
        }
        taken = end
        guard taken == piece.size else { return }
        pieces = pieces.dropFirst()
        taken = 0
    }

    func events(peer: String) -> [LogEvent] { [] }
}
