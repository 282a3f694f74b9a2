import TransferCodec
import TransferHTTP
import TransferIntake
import TransferModel
import TransferPorts
import TransferSystem

/// A request that begins an upload which can be gone on with, or goes on with one, whether its client speaks tus or as the IETF has
/// it: takes the content, compares it, and stores the upload where this is its end.
///
/// ```
///   begin ──► write ──► … ──► finish        the answer is that more is kept, or that all is stored
///   complete                                where the last request was cut off before it was stored
/// ```
final class AppendReceiver: ContentReceiver {
    let upload: RequestUpload

    /// Where the upload is, as the client knows it.
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
    ///   - intent: what is known of the upload; its extent is set here.
    ///   - append: what this request does.
    ///   - conditions: what has to hold when it is complete.
    ///   - tellsReplacing: whether its sender may know that there was something under the path before.
    ///   - bringsContent: whether what is appended comes with the request; otherwise the server has it.
    /// - Throws: what speaks against it before its content comes.
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

    /// Lets the content come.
    func begin() throws(HTTPRefusal) -> HTTPResponse {
        guard upload.begin(mayEnd: true) else { return .reply(try answer()) }
        context.uploads.noteBeginning()
        return .receive(self, interim: announcement)
    }

    /// Tells where the upload is as soon as it is there, so that a client whose connection is lost can go on.
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

    /// An answer before the final one (104; RFC 9110, section 15.2).
    private func interim(_ fields: [(String, String)], _ more: [(String, String)] = []) -> [UInt8] {
        var head = HTTPFields()
        for (name, value) in fields + dialect.identification + more { head.append(name, value) }
        return HeadWriter.bytes(ResponseHead(104, fields: head)) ?? []
    }

    func finish(_ trailers: HTTPFields) throws(HTTPRefusal) -> HTTPReply {
        store(trailers)
        return try answer()
    }

    /// Stores an upload of which all is there, and whose last request did not live to do that. This one brings nothing more.
    ///
    /// - Throws: why it is not stored.
    func complete() throws(HTTPRefusal) {
        if upload.begin(mayEnd: true) { store(HTTPFields()) }
        do throws(HTTPRefusal) {
            _ = try upload.acknowledgement(isOnlyNew: note.isOnlyNew)
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

    /// Compares what has come with what its sender says of it, and of all of it where this is the end.
    ///
    /// - Throws: `digestMismatch`.
    private func compare(_ trailers: HTTPFields, _ open: OpenUpload) throws(Failure) {
        try checksum?.check(trailers)
        guard let expected = note.sha256, endsUpload(with: open.size) else { return }
        let computed = try open.digest(by: .sha256)
        guard computed == expected else { throw .hasOtherDigest }
        stored.digests = DigestField(sha256: computed)
    }

    /// Another client may have stored something else since it was begun.
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
    /// - Throws: why nothing is kept of it.
    func answer() throws(HTTPRefusal) -> HTTPReply {
        if case .kept(let offset)? = upload.outcome { return reply(kept: offset) }
        do throws(HTTPRefusal) {
            return reply(try upload.acknowledgement(isOnlyNew: note.isOnlyNew))
        } catch {
            throw ofDialect(error)
        }
    }

    /// More of the upload is durable.
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

    /// The upload is stored. What a client of tus has made keeps its address.
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

    /// What a client of this dialect is told in place of a refusal.
    private func ofDialect(_ refusal: HTTPRefusal) -> HTTPRefusal {
        guard dialect.isTus, refusal.code == .digestMismatch else { return refusal.identified(dialect) }
        // It has a status of its own in tus (checksum extension).
        var own = HTTPRefusal(460, refusal.code, refusal.message)
        own.isLogged = refusal.isLogged
        return own.identified(dialect)
    }
}

/// Uploads that clients name by their addresses, whatever they speak.
struct NamedUploads {
    let context: HTTPContext

    enum Found {
        case unfinished(UnfinishedAppend, UploadNote)
        case stored(Acknowledgement)
    }

    /// - Parameter id: as the client knows it; nil for what is no address.
    /// - Throws: 404 where there is none.
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
        guard let acknowledgement = intake.lookup([id], .xxh128)[0] else { throw .noSuchUpload }
        return .stored(acknowledgement)
    }

    /// Forgets an upload that is not complete.
    ///
    /// - Throws: 404 where there is none.
    func takeBack(_ id: UploadID?) throws(HTTPRefusal) {
        guard let id = id.map(context.caller.inner) else { throw .noSuchUpload }
        do throws(Failure) {
            guard try context.uploads.intake.takeBack(append: id) else { throw Failure(.notFound, "") }
        } catch {
            throw error.code == .notFound ? .noSuchUpload : HTTPRefusal(error)
        }
    }

    /// A request that goes on with an upload, or ends it.
    func receiver(
        _ request: HTTPRequest, _ dialect: UploadDialect, _ unfinished: UnfinishedAppend, _ append: UploadAppend,
        _ note: UploadNote
    ) throws(HTTPRefusal) -> AppendReceiver {
        try request.reading { (_) throws(HTTPFault) in
            try AppendReceiver(
                request, dialect, unfinished.intent, append, note, context, if: conditions(of: unfinished.intent, note))
        }
    }

    /// What an upload was made to depend on by the request that created it.
    func conditions(of intent: UploadIntent, _ note: UploadNote) throws(HTTPFault) -> HTTPConditions {
        try HTTPConditions(note, on: context.visiblePath(intent.path))
    }

    /// - Parameter total: bytes of an upload; nil where they are not known.
    /// - Throws: 413 for more than the client may send.
    func checkSize(_ total: UInt64?) throws(HTTPFault) {
        let largest = context.largestUpload
        guard total ?? 0 <= largest else { throw HTTPFault(413, "The server takes no more than \(largest) bytes.") }
    }

    /// - Parameter what: the content, in a sentence.
    /// - Throws: 415 for content of another type.
    static func checkType(_ fields: HTTPFields, of what: String, is type: String) throws(HTTPFault) {
        let found = try fields.only("content-type").flatMap { MediaType($0.utf8) }
        guard found?.essence == type else { throw HTTPFault(415, "\(what) has the type \(type).") }
    }

    /// Where a request goes on with an upload.
    ///
    /// - Throws: 400 where it does not say.
    static func offset(_ fields: HTTPFields) throws(HTTPFault) -> UInt64 {
        guard let offset = try UploadNumber.offset(fields) else { throw HTTPFault(400, "Upload-Offset is missing.") }
        return offset
    }
}

extension HTTPRefusal {
    static let noSuchUpload = HTTPRefusal(
        404, .notFound, "There is no such upload: it was taken back, has expired, or was never made.",
        [("Cache-Control", "no-store")])

    /// With what all answers of a dialect say, once.
    func identified(_ dialect: UploadDialect) -> HTTPRefusal {
        var refusal = self
        refusal.fields += dialect.identification.filter { field in
            !fields.contains { $0.0.hasSameBytes(as: field.0) }
        }
        return refusal
    }
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

    /// - Returns: nil where the request says none.
    /// - Throws: 400 for an algorithm that this server does not have.
    static func tus(_ fields: HTTPFields) throws(HTTPFault) -> PieceChecksum? {
        if let declared = try tusDigest(fields) { return PieceChecksum(.tus, [declared.0], declared) }
        guard announces(fields, "upload-checksum") else { return nil }
        return PieceChecksum(.tus, ChecksumAlgorithm.allCases, nil)
    }

    /// - Returns: nil where the request says none.
    /// - Throws: 400 where it says something that cannot be compared.
    static func contentDigest(_ fields: HTTPFields) throws(HTTPFault) -> PieceChecksum? {
        if let digest = try contentSHA256(fields) { return PieceChecksum(.contentDigest, [.sha256], (.sha256, digest)) }
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
                    .digestMismatch, "The piece arrived with another digest than its sender gave: send it again.")
            }
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

    private static func contentSHA256(_ fields: HTTPFields) throws(HTTPFault) -> [UInt8]? {
        try DigestField.sha256("content-digest", of: fields)
    }

    private static func announces(_ fields: HTTPFields, _ name: String) -> Bool {
        fields.list("trailer").contains { HTTPCharacter.areSame($0.utf8, name) }
    }

    /// The value of `Tus-Checksum-Algorithm`.
    static let offer = ChecksumAlgorithm.allCases.map(\.rawValue).joined(separator: ",")
}
