import TransferCodec
import TransferHTTP
import TransferIO
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
        settled(uploads.take { (open) throws(Failure) in try whole.checkConditions(files, open) })
        if whole.outcome == nil {
            let ended = uploads.end(DeclaredEnd()) + uploads.publish() + uploads.acknowledge().settled
            for upload in ended { settled(upload) }
        }
        return true
    }

    private func take(from piece: (id: UploadID, size: UInt64)) throws(Failure) {
        let end = min(piece.size, taken.addingClamped(Self.step))
        if taken < end {
            let isThere = try uploads.intake.read(append: piece.id, taken..<end) { (bytes) in
                settled(uploads.take { (open) throws(Failure) in try open.append(bytes) })
            }
            guard isThere else {
                settled(uploads.abort())
                throw Failure(.notFound, "A piece of the upload has gone.")
            }
        }
        taken = end
        guard taken == piece.size else { return }
        pieces = pieces.dropFirst()
        taken = 0
    }

    private func settled(_ settled: ConnectionUploads.Settled?) {
        if let settled { whole.outcome = settled.outcome }
    }

    func events(peer: String) -> [LogEvent] { [] }
}

/// What the sender of a piece says that its digest is, in front of it or behind it. Belongs to one task at a time.
final class PieceChecksum {
    private enum Form {
        /// `Upload-Checksum` (tus 1.0.0, checksum).
        case tus
        /// `Content-Digest` (RFC 9530), of which SHA-256 is compared.
        case contentDigest
    }

    private let form: Form
    /// Several where only the trailers tell which it is.
    private let hashers: [ChecksumHasher]
    private let declared: (algorithm: ChecksumAlgorithm, digest: [UInt8])?

    private init(_ form: Form, _ algorithms: [ChecksumAlgorithm], _ declared: (ChecksumAlgorithm, [UInt8])?) {
        (self.form, self.declared) = (form, declared)
        hashers = algorithms.map { ChecksumHasher($0) }
    }

    /// - Returns: nothing where nothing is said.
    /// - Throws: 400 for an algorithm that this server does not have.
    static func tus(_ fields: HTTPFields) throws(HTTPFault) -> PieceChecksum? {
        if let declared = try tusDigest(fields) { return PieceChecksum(.tus, [declared.0], declared) }
        guard announces(fields, "upload-checksum") else { return nil }
        return PieceChecksum(.tus, ChecksumAlgorithm.allCases, nil)
    }

    /// - Returns: nothing where nothing is said.
    /// - Throws: 400 where it says something that cannot be compared.
    static func contentDigest(_ fields: HTTPFields) throws(HTTPFault) -> PieceChecksum? {
        if let digest = try sha256(fields) { return PieceChecksum(.contentDigest, [.sha256], (.sha256, digest)) }
        guard announces(fields, "content-digest") else { return nil }
        return PieceChecksum(.contentDigest, [.sha256], nil)
    }

    func update(_ bytes: UnsafeRawBufferPointer) {
        for hasher in hashers { hasher.update(bytes) }
    }

    /// Compares what has come with what its sender says of it. To be called once.
    ///
    /// - Throws: `digestMismatch`; `malformedFrame` for what cannot be compared.
    func check(_ trailers: HTTPFields) throws(Failure) {
        do throws(HTTPFault) {
            let behind = try form == .tus ? Self.tusDigest(trailers) : Self.sha256(trailers).map { (.sha256, $0) }
            guard declared != nil || behind != nil else {
                throw HTTPFault(400, "The digest that was announced is missing.")
            }
            let computed = hashers.map { ($0.algorithm, $0.finish()) }
            for wanted in [declared, behind].compactMap(\.self) {
                guard computed.contains(where: { $0.0 == wanted.0 && $0.1 == wanted.1 }) else {
                    throw HTTPFault(460, "")
                }
            }
        } catch {
            guard error.status == 460 else { throw Failure(.malformedFrame, error.message) }
            throw Failure(
                .digestMismatch, "The piece arrived with another digest than its sender gave: send it again.")
        }
    }

    private static func tusDigest(_ fields: HTTPFields) throws(HTTPFault) -> (ChecksumAlgorithm, [UInt8])? {
        guard let text = try fields.only("upload-checksum") else { return nil }
        let checksum = try UploadChecksum(text)
        guard let algorithm = ChecksumAlgorithm(rawValue: checksum.algorithm) else {
            throw HTTPFault(400, "The checksums that are compared here are \(offer).")
        }
        return (algorithm, checksum.digest)
    }

    private static func sha256(_ fields: HTTPFields) throws(HTTPFault) -> [UInt8]? {
        guard let field = try DigestField(fields.values("content-digest")) else { return nil }
        guard let digest = field.sha256 else {
            throw HTTPFault(400, "Of digests, sha-256 is compared here: say that one.")
        }
        return digest
    }

    private static func announces(_ fields: HTTPFields, _ name: String) -> Bool {
        fields.list("trailer").contains { HTTPCharacter.areSame($0.utf8, name) }
    }

    /// The value of `Tus-Checksum-Algorithm`.
    static let offer = ChecksumAlgorithm.allCases.map(\.rawValue).joined(separator: ",")
}
