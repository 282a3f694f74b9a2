import TransferCodec
import TransferHTTP
import TransferIntake
import TransferModel
import TransferPorts
import TransferSystem

/// Takes the content of one request that begins or continues a resumable upload, in tus or in the IETF draft: checks it, and stores the
/// upload if this request completes it.
///
/// ```
///   begin ──► write ──► … ──► finish        the answer says how much is kept, or that the upload is stored
///   complete                                if the last request was cut off before the upload was stored
/// ```
final class AppendReceiver: ContentReceiver {
    let upload: RequestUpload

    /// The upload's address, as the client knows it.
    private let address: String

    private let request: HTTPRequest
    private let dialect: UploadDialect
    private let note: UploadNote
    private let append: UploadAppend
    private let conditions: HTTPConditions?
    private let checksum: PieceChecksum?
    private let context: HTTPContext
    private var stored: StoredReply

    /// Bytes of the upload that the client knows to be durable.
    private var told: UInt64

    /// - Parameters:
    ///   - intent: the declarations of the upload; its extent is set here.
    ///   - append: what this request does.
    ///   - conditions: must hold when the upload is complete.
    ///   - tellsReplacing: whether the client may learn that the path had a file before.
    ///   - bringsContent: whether the request has the appended content; false if the server has it already.
    /// - Throws: why the request is refused before its content.
    init(
        _ request: HTTPRequest, _ dialect: UploadDialect, _ intent: UploadIntent, _ append: UploadAppend,
        _ note: UploadNote, _ context: HTTPContext, if conditions: HTTPConditions? = nil,
        tellsReplacing: Bool = false, bringsContent: Bool = true
    ) throws(HTTPFault) {
        checksum = try dialect.checksum(request.head.fields)
        var (whole, append) = (intent, append)
        append.isUnproven = checksum != nil
        append.note = append.isNew ? note.bytes : []
        switch request.body {
        case .length(let length): whole.size = length
        case .none: whole.size = 0
        case .chunked, .untilClose: whole.size = nil
        }
        if !bringsContent { whole.size = nil }
        whole.extent = .append(append)
        upload = RequestUpload(whole, of: request, context.uploads)
        (self.append, self.note, self.conditions, told) = (append, note, conditions, append.offset)
        (self.request, self.dialect, self.context) = (request, dialect, context)
        address = UploadAddress.text(context.caller.outer(intent.id), dialect.family)
        stored = StoredReply(
            path: intent.path, tellsReplacing: tellsReplacing, began: monotonicNanoseconds())
    }

    /// Begins to take the content.
    func begin() throws(HTTPRefusal) -> HTTPResponse {
        guard upload.begin(mayEnd: true) else { return .reply(try answer()) }
        context.uploads.noteBeginning()
        return .receive(self, interim: announcement)
    }

    /// An interim answer with the upload's address, so that a client that loses its connection can continue; empty if the client expects
    /// none.
    private var announcement: [UInt8] {
        guard append.isNew, speaksInterim, let open = context.uploads.current else { return [] }
        open.announce()
        return interim([("Location", address)], context.uploadLimit)
    }

    func write(_ bytes: UnsafeRawBufferPointer) throws(HTTPRefusal) -> ContentProgress {
        var news: [UInt8] = []
        upload.write { (open) throws(Failure) in
            checksum?.update(bytes)
            try open.write(bytes)
            guard open.kept > told else { return }
            told = open.kept
            if speaksInterim { news = interim([("Upload-Offset", "\(open.kept)")]) }
        }
        return upload.outcome == nil ? .wantsMore(interim: news) : .answer(try answer())
    }

    private var speaksInterim: Bool { dialect.interop != nil && request.head.version == .http11 }

    /// An interim answer with status 104 (RFC 9110, section 15.2).
    private func interim(_ fields: [(String, String)], _ more: [(String, String)] = []) -> [UInt8] {
        var head = HTTPFields()
        for (name, value) in fields + dialect.identification + more { head.append(name, value) }
        return HeadWriter.bytes(ResponseHead(104, fields: head)) ?? []
    }

    func finish(_ trailers: HTTPFields) throws(HTTPRefusal) -> HTTPResponse {
        store(trailers)
        return .reply(try answer())
    }

    /// Stores an upload whose content is complete, and whose last request was cut off before that. This request adds nothing.
    ///
    /// - Throws: why the upload is not stored.
    func complete() throws(HTTPRefusal) -> Acknowledgement {
        if upload.begin(mayEnd: true) { store(HTTPFields()) }
        do throws(HTTPRefusal) {
            return try upload.acknowledgement(isOnlyNew: note.isOnlyNew)
        } catch {
            throw ofDialect(error)
        }
    }

    private func store(_ trailers: HTTPFields) {
        upload.write { (open) throws(Failure) in
            try compare(trailers, open)
            try checkConditions(open)
        }
        upload.finish()
    }

    /// Compares the content with the digests that the client states: the digest of this request's content, and, if this request completes
    /// the upload, the digest of the whole.
    ///
    /// - Throws: `digestMismatch`.
    private func compare(_ trailers: HTTPFields, _ open: OpenUpload) throws(Failure) {
        try checksum?.check(trailers)
        // Requests before this one may have declared no checksum.
        stored.isCompared = append.isNew && checksum != nil
        guard let expected = note.sha256, endsUpload(with: open.size) else { return }
        let computed = try open.digest(by: .sha256)
        guard computed == expected else { throw .hasOtherDigest }
        (stored.digests, stored.isCompared) = (DigestField(sha256: computed), true)
    }

    /// Checks the conditions of the request that began the upload: another client may have stored a file since.
    ///
    /// - Throws: `conditionFails`.
    func checkConditions(_ open: OpenUpload) throws(Failure) {
        guard let conditions, endsUpload(with: open.size) else { return }
        try conditions.demand(of: open, context.files)
    }

    private func endsUpload(with size: UInt64) -> Bool {
        switch append.ending {
        case .never: false
        case .here: true
        case .atTotal: append.total == append.offset.addingClamped(size)
        }
    }

    func settled(_ settled: EndedUpload) { upload.settled(settled) }
}

// MARK: Answers

extension AppendReceiver {
    /// - Throws: why nothing of the request is kept.
    func answer() throws(HTTPRefusal) -> HTTPReply {
        if case .kept(let offset)? = upload.outcome { return reply(kept: offset) }
        do throws(HTTPRefusal) {
            return reply(try upload.acknowledgement(isOnlyNew: note.isOnlyNew))
        } catch {
            throw ofDialect(error)
        }
    }

    /// The answer if the upload is not complete: its durable offset.
    private func reply(kept offset: UInt64) -> HTTPReply {
        var fields = dialect.fields(offset: offset, isComplete: false) + [("Cache-Control", "no-store")]
        if dialect.isTus {
            let keeping = context.resources.intake.keepUnfinished / 1_000_000_000
            let (end, overflow) = HTTPDate.now.seconds.addingReportingOverflow(keeping)
            fields.append(("Upload-Expires", HTTPDate(clamping: overflow ? .max : end).text))
        }
        if append.isNew { fields.append(("Location", address)) }
        if !dialect.isTus { fields += context.uploadLimit }
        return HTTPReply(append.isNew ? 201 : 204, fields)
    }

    /// The answer if the upload is stored. An upload of tus keeps its address.
    private func reply(_ acknowledgement: Acknowledgement) -> HTTPReply {
        var reply = stored.reply(acknowledgement, context.caller, upload.receipt(of: acknowledgement))
        reply.fields += dialect.fields(offset: acknowledgement.size, isComplete: true)
        guard dialect.isTus else { return reply }
        let location = reply.fields.firstIndex { $0.0.hasSameBytes(as: "Location") }
        if let location {
            reply.fields.append(("Content-Location", reply.fields[location].1))
            reply.fields[location].1 = address
        }
        if append.isNew {
            reply.status = 201
        } else {
            if let location { reply.fields.remove(at: location) }
            (reply.status, reply.body, reply.type) = (204, [], nil)
        }
        return reply
    }

    /// A refusal in the form that clients of this dialect expect.
    private func ofDialect(_ refusal: HTTPRefusal) -> HTTPRefusal {
        guard dialect.isTus, refusal.code == .digestMismatch else { return refusal.identified(dialect) }
        // tus has its own status for this (checksum extension).
        var own = HTTPRefusal(460, refusal.code, refusal.message)
        own.isLogged = refusal.isLogged
        return own.identified(dialect)
    }
}

/// Uploads that clients name by their addresses, in either dialect.
struct NamedUploads {
    let context: HTTPContext

    enum Found {
        case unfinished(UnfinishedAppend, UploadNote)
        case stored(Acknowledgement)
    }

    /// - Parameter id: as the client knows it; nil if the address is invalid.
    /// - Throws: 404 if the upload does not exist.
    func find(_ id: UploadID?) throws(HTTPRefusal) -> Found {
        guard let id = id.map(context.caller.inner) else { throw .noSuchUpload }
        let intake = context.uploads.intake
        do throws(Failure) {
            if let unfinished = try intake.unfinishedAppend(id) {
                return .unfinished(unfinished, UploadNote(unfinished.note))
            }
        } catch {
            throw HTTPRefusal(error)
        }
        guard let acknowledgement = intake.lookup([id], nil)[0] else { throw .noSuchUpload }
        return .stored(acknowledgement)
    }

    /// What the last answer to a stored upload says, for a client that has lost that answer.
    func fields(of acknowledgement: Acknowledgement) -> [(String, String)] {
        let path = context.caller.clientPath(acknowledgement.path).map { StoredReply.location($0.string) }
        return StoredReply.fields(acknowledgement) + (path.map { [("Content-Location", $0)] } ?? [])
    }

    /// Deletes an incomplete upload.
    ///
    /// - Throws: 404 if the upload does not exist.
    func takeBack(_ id: UploadID?) throws(HTTPRefusal) {
        guard let id = id.map(context.caller.inner) else { throw .noSuchUpload }
        do throws(Failure) {
            guard try context.uploads.intake.takeBack(append: id) else { throw Failure(.notFound, "") }
        } catch {
            throw error.code == .notFound ? .noSuchUpload : HTTPRefusal(error)
        }
    }

    /// Makes the receiver of a request that continues or completes an upload.
    func receiver(
        _ request: HTTPRequest, _ dialect: UploadDialect, _ unfinished: UnfinishedAppend, _ append: UploadAppend,
        _ note: UploadNote
    ) throws(HTTPRefusal) -> AppendReceiver {
        try request.reading { (_) throws(HTTPFault) in
            try AppendReceiver(
                request, dialect, unfinished.intent, append, note, context, if: conditions(of: unfinished.intent, note))
        }
    }

    /// The conditions that the request that created the upload has set.
    func conditions(of intent: UploadIntent, _ note: UploadNote) throws(HTTPFault) -> HTTPConditions {
        try HTTPConditions(note, on: context.visiblePath(intent.path))
    }

    /// - Parameter total: bytes of an upload; nil if they are not known.
    /// - Throws: 413 for more than the client may send.
    func checkSize(_ total: UInt64?) throws(HTTPFault) {
        let largest = context.largestUpload
        guard total ?? 0 <= largest else {
            throw HTTPFault(413, "The upload is larger than the \(largest) bytes that the server accepts.")
        }
    }

    /// - Parameter what: names the content in the failure's sentence.
    /// - Throws: 415 for content of another type.
    static func checkType(_ fields: HTTPFields, of what: String, is type: String) throws(HTTPFault) {
        let found = try fields.only("content-type").flatMap { MediaType($0.utf8) }
        guard found?.essence == type else { throw HTTPFault(415, "\(what) must have the type \(type).") }
    }

    /// The offset at which a request continues an upload.
    ///
    /// - Throws: 400 if the field is missing.
    static func offset(_ fields: HTTPFields) throws(HTTPFault) -> UInt64 {
        guard let offset = try UploadNumber.offset(fields) else { throw HTTPFault(400, "Upload-Offset is missing.") }
        return offset
    }
}

extension HTTPRefusal {
    static let noSuchUpload = HTTPRefusal(
        404, .notFound, "There is no such upload: it was cancelled, has expired, or was never begun.",
        [("Cache-Control", "no-store")])

    /// The refusal with the fields that all answers of a dialect have, each once.
    func identified(_ dialect: UploadDialect) -> HTTPRefusal {
        var refusal = self
        refusal.fields += dialect.identification.filter { field in
            !fields.contains { $0.0.hasSameBytes(as: field.0) }
        }
        return refusal
    }
}

/// The digest of one request's content, as its client states it before or after the content. Used by one task at a time.
final class PieceChecksum {
    private enum Form {
        /// The field `Upload-Checksum` (tus 1.0.0, checksum).
        case tus
        /// `Content-Digest` (RFC 9530); only SHA-256 is compared.
        case contentDigest
    }

    private let form: Form
    /// Several if only the trailers will say which algorithm it is.
    private let hashers: [ChecksumHasher]
    private let declared: (algorithm: ChecksumAlgorithm, digest: [UInt8])?

    private init(_ form: Form, _ algorithms: [ChecksumAlgorithm], _ declared: (ChecksumAlgorithm, [UInt8])?) {
        (self.form, self.declared) = (form, declared)
        hashers = algorithms.map { ChecksumHasher($0) }
    }

    /// - Returns: nil if the request states no digest.
    /// - Throws: 400 for an algorithm that this server does not have.
    static func tus(_ fields: HTTPFields) throws(HTTPFault) -> PieceChecksum? {
        if let declared = try tusDigest(fields) { return PieceChecksum(.tus, [declared.0], declared) }
        guard announces(fields, "upload-checksum") else { return nil }
        return PieceChecksum(.tus, ChecksumAlgorithm.allCases, nil)
    }

    /// - Returns: nil if the request states no digest.
    /// - Throws: 400 for a digest that cannot be compared.
    static func contentDigest(_ fields: HTTPFields) throws(HTTPFault) -> PieceChecksum? {
        if let digest = try contentSHA256(fields) { return PieceChecksum(.contentDigest, [.sha256], (.sha256, digest)) }
        guard announces(fields, "content-digest") else { return nil }
        return PieceChecksum(.contentDigest, [.sha256], nil)
    }

    func update(_ bytes: UnsafeRawBufferPointer) {
        for hasher in hashers { hasher.update(bytes) }
    }

    /// Compares the content with the stated digests. To be called once.
    ///
    /// - Throws: `digestMismatch`; `malformedFrame` if the trailers have no digest that can be compared.
    func check(_ trailers: HTTPFields) throws(Failure) {
        let behind = try DigestField.read { () throws(HTTPFault) in
            try form == .tus ? Self.tusDigest(trailers) : Self.contentSHA256(trailers).map { (.sha256, $0) }
        }
        guard declared != nil || behind != nil else {
            throw Failure(.malformedFrame, "The digest that was announced is missing.")
        }
        let computed = hashers.map { ($0.algorithm, $0.finish()) }
        for wanted in [declared, behind].compactMap(\.self) {
            guard computed.contains(where: { $0.0 == wanted.0 && $0.1 == wanted.1 }) else {
                throw Failure(
                    .digestMismatch, "The content that arrived does not have the declared digest: send it again.")
            }
        }
    }

    private static func tusDigest(_ fields: HTTPFields) throws(HTTPFault) -> (ChecksumAlgorithm, [UInt8])? {
        guard let text = try fields.only("upload-checksum") else { return nil }
        let checksum = try UploadChecksum(text)
        guard let algorithm = ChecksumAlgorithm(rawValue: checksum.algorithm) else {
            throw HTTPFault(400, "This server supports these checksum algorithms: \(offer).")
        }
        return (algorithm, checksum.digest)
    }

    private static func contentSHA256(_ fields: HTTPFields) throws(HTTPFault) -> [UInt8]? {
        try DigestField.sha256("content-digest", of: fields)
    }

    private static func announces(_ fields: HTTPFields, _ name: String) -> Bool {
        fields.list("trailer").contains { HTTPCharacter.areSame($0.utf8, name) }
    }

    /// The value of `Tus-Checksum-Algorithm`: algorithms, separated by commas.
    static let offer = ChecksumAlgorithm.allCases.map(\.rawValue).joined(separator: ",")
}
