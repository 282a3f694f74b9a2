import TransferCodec
import TransferHTTP
import TransferIntake
import TransferModel
import TransferReceipts
import TransferStore
import TransferSystem

/// A request that begins an upload which can be gone on with, or goes on with one. Belongs to one task at a time.
final class HTTPAppend {
    let request: HTTPRequest
    let dialect: UploadDialect
    let intent: UploadIntent
    let note: UploadNote

    /// As the client knows it.
    let address: String

    /// What has become of it.
    var outcome: UploadOutcome?

    /// Bytes of the upload that the client knows to be durable.
    var told: UInt64

    private let append: UploadAppend
    private let conditions: HTTPConditions?
    private let checksum: PieceChecksum?
    private var stored: StoredReply

    /// - Parameters:
    ///   - intent: what is known of the upload; its extent is set here.
    ///   - append: what this request does.
    ///   - conditions: what has to hold when it is complete.
    ///   - tellsReplacing: whether its sender may know that there was something under the path before.
    /// - Throws: what speaks against it before its content comes.
    init(
        _ request: HTTPRequest, _ dialect: UploadDialect, _ intent: UploadIntent, _ append: UploadAppend,
        _ note: UploadNote, for client: Caller, if conditions: HTTPConditions? = nil, tellsReplacing: Bool = false
    ) throws(HTTPFault) {
        self.conditions = conditions
        checksum = try dialect.checksum(request.head.fields)
        var (whole, append) = (intent, append)
        append.isUnproven = checksum != nil
        append.note = append.isNew ? note.bytes : []
        switch request.body {
        case .length(let length): whole.size = length
        case .none: whole.size = 0
        case .chunked, .untilClose: whole.size = nil
        }
        whole.extent = .append(append)
        (self.intent, self.append, self.note, told) = (whole, append, note, append.offset)
        (self.request, self.dialect) = (request, dialect)
        address = UploadAddress.text(client.outer(intent.id), dialect.family)
        stored = StoredReply(
            path: intent.path, tellsReplacing: tellsReplacing, began: monotonicNanoseconds())
    }

    var isNew: Bool { append.isNew }

    /// Whether its sender wants the receipt in the answer.
    var wantsReceipt: Bool { HTTPReceipt.isWanted(request.head.fields) }

    func take(_ bytes: UnsafeRawBufferPointer) { checksum?.update(bytes) }

    /// Compares what has come with what its sender says of it, and of all of it where this is the end.
    ///
    /// - Throws: `digestMismatch`.
    func check(_ trailers: HTTPFields, _ open: OpenUpload) throws(Failure) {
        try checksum?.check(trailers)
        guard let expected = note.sha256, endsUpload(with: open.size) else { return }
        let computed = try open.digest(by: .sha256)
        guard computed == expected else {
            throw Failure(
                .digestMismatch, "What arrived does not have the SHA-256 that its sender gave: send it again.")
        }
        stored.digests = DigestField(sha256: computed)
    }

    /// Another client may have stored something else since it was begun.
    ///
    /// - Throws: `conditionFails`.
    func checkConditions(_ files: ConnectionFiles, _ open: OpenUpload) throws(Failure) {
        guard let conditions, endsUpload(with: open.size) else { return }
        try conditions.demand(of: open, files)
    }

    private func endsUpload(with size: UInt64) -> Bool {
        switch append.ending {
        case .never: false
        case .here: true
        case .atTotal: append.total == append.offset.addingClamped(size)
        }
    }
}

// MARK: Answers

extension HTTPAppend {
    /// More of the upload is durable.
    ///
    /// - Parameter expires: seconds since 1970.
    func reply(kept offset: UInt64, expires: Int64) -> HTTPReply {
        var fields = dialect.fields(offset: offset, isComplete: false) + [("Cache-Control", "no-store")]
        if dialect.isTus { fields.append(("Upload-Expires", HTTPDate(clamping: expires).text)) }
        guard isNew else { return HTTPReply(204, fields) }
        return HTTPReply(201, fields + [("Location", address)])
    }

    /// The upload is stored. What a client of tus has made keeps its address.
    ///
    /// - Parameter receipt: nothing where none is wanted, or there is none.
    func reply(_ acknowledgement: Acknowledgement, _ client: Caller, _ receipt: SignedReceipt?) -> HTTPReply {
        var reply = stored.reply(acknowledgement, client, receipt)
        reply.fields += dialect.fields(offset: acknowledgement.size, isComplete: true)
        guard dialect.isTus else { return reply }
        let location = reply.fields.firstIndex { $0.0.hasSameBytes(as: "Location") }
        if let location {
            reply.fields.append(("Content-Location", reply.fields[location].1))
            reply.fields[location].1 = address
        }
        if isNew {
            reply.status = 201
        } else {
            if let location { reply.fields.remove(at: location) }
            (reply.status, reply.body, reply.type) = (204, [], nil)
        }
        return reply
    }

    func refusal(_ outcome: UploadOutcome, _ client: Caller) -> HTTPRefusal {
        var refusal = HTTPRefusal(Failure(outcome.code, client.redacted(outcome.message)))
        // Its own status in tus (checksum extension).
        if dialect.isTus, outcome.code == .digestMismatch {
            refusal = HTTPRefusal(460, outcome.code, refusal.message)
        }
        if outcome.haveConditionsFailed || note.isOnlyNew && outcome.code == .pathConflict {
            refusal = HTTPRefusal(412, outcome.code, refusal.message)
        }
        refusal.fields += dialect.identification
        return refusal
    }
}
