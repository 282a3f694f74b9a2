import TransferCodec
import TransferHTTP
import TransferIntake
import TransferModel
import TransferPorts
import TransferSystem

/// Stores files that a request brings in one piece (RFC 9110, section 9.3.4).
struct PutHandler: HTTPHandler {
    let context: HTTPContext

    func store(_ request: HTTPRequest, _ target: HTTPTarget) throws(HTTPRefusal) -> HTTPResponse {
        if target.isFolder, !target.path.isEmpty { return try FolderHandler(context: context).make(request, target) }
        let terms = try FileTerms(request, target, context)
        let receiver = FileReceiver(request, terms, context)
        // A client that waits for a 100 need not send the content of an upload that is settled already.
        guard receiver.upload.begin(mayEnd: request.head.expectsContinue) else { return .reply(try receiver.answer()) }
        context.uploads.noteBeginning()
        return .receive(receiver)
    }
}

/// Takes the content of one PUT: writes it, compares it with the client's digests, and stores it.
final class FileReceiver: ContentReceiver {
    let upload: RequestUpload
    private let terms: FileTerms
    private let context: HTTPContext
    private let began = monotonicNanoseconds()

    /// Digests the content as a whole, as HTTP states digests; the server's own digests are of blocks.
    private let hasher = BlockHasher(.sha256)
    /// For a client that wants SHA-512 in the answer; nil otherwise.
    private let longHasher: LongHasher?
    private var digests: DigestField?
    private var isCompared = false

    init(_ request: HTTPRequest, _ terms: FileTerms, _ context: HTTPContext) {
        (self.terms, self.context) = (terms, context)
        upload = RequestUpload(terms.intent, of: request, context.uploads)
        let wanted = DigestPreference(request.head.fields.values("want-repr-digest"))?.algorithms.first
        longHasher = wanted == .sha512 ? LongHasher() : nil
    }

    func write(_ bytes: UnsafeRawBufferPointer) throws(HTTPRefusal) -> ContentProgress {
        upload.write { (open) throws(Failure) in
            hasher.update(bytes)
            longHasher?.update(bytes)
            try open.write(bytes)
        }
        return upload.outcome == nil ? .wantsMore() : .answer(try answer())
    }

    func finish(_ trailers: HTTPFields) throws(HTTPRefusal) -> HTTPResponse {
        upload.write { (open) throws(Failure) in
            try compare(trailers)
            try terms.conditions.demand(of: open, context.files)
        }
        upload.finish()
        return .reply(try answer())
    }

    /// Compares the content with the digests in the request's fields and trailers.
    ///
    /// - Throws: `digestMismatch`; `malformedFrame` for trailers that cannot be compared.
    private func compare(_ trailers: HTTPFields) throws(Failure) {
        let computed = hasher.finish()
        digests = DigestField(sha256: computed, sha512: longHasher?.finish())
        let behind = try DigestField.read { () throws(HTTPFault) in try FileTerms.sha256(trailers) }
        for declared in [terms.sha256, behind].compactMap(\.self) {
            guard declared == computed else { throw .hasOtherDigest }
            isCompared = true
        }
    }

    /// - Throws: why the file is not stored.
    func answer() throws(HTTPRefusal) -> HTTPReply {
        let acknowledgement = try upload.acknowledgement(isOnlyNew: terms.isOnlyNew)
        let stored = StoredReply(
            path: terms.intent.path, tellsReplacing: terms.maySee, digests: digests, isCompared: isCompared,
            began: began)
        var reply = stored.reply(acknowledgement, context.caller, upload.receipt(of: acknowledgement))
        // Content that is there already keeps its time.
        if terms.isOfOwnCloud, acknowledgement.code == .committed { reply.fields.append(("X-OC-MTime", "accepted")) }
        return reply
    }

    func settled(_ settled: EndedUpload) { upload.settled(settled) }
}

/// The declarations of a request that uploads a file, in one piece or as the first request of a resumable upload.
struct FileTerms {
    let intent: UploadIntent

    /// Conditions that must still hold when the file is complete.
    let conditions: HTTPConditions

    /// Whether the path must have no file (RFC 9110, section 13.1.2).
    let isOnlyNew: Bool

    /// Whether the client states the time in the field of ownCloud, and expects to learn that it was taken.
    let isOfOwnCloud: Bool

    /// Whether the client may learn what the path had before.
    let maySee: Bool

    /// The SHA-256 of the content, as the client states it; nil if it does not.
    let sha256: [UInt8]?

    /// - Throws: why the request is refused before its content.
    init(_ request: HTTPRequest, _ target: HTTPTarget, _ context: HTTPContext) throws(HTTPRefusal) {
        guard !target.path.isEmpty, !target.isFolder else {
            throw HTTPRefusal(
                409, .wrongForm, "A file needs a name: put it to the path of a file, without a slash at its end.")
        }
        let fields = request.head.fields
        // A PUT with a range would replace the file by a part of it (RFC 9110, section 14.5).
        guard fields.values("content-range").isEmpty else {
            throw HTTPRefusal(400, .wrongForm, "A PUT must have the whole file, without Content-Range.")
        }
        guard fields.values("content-encoding").isEmpty else {
            throw HTTPRefusal(415, .wrongForm, "Send the file uncompressed, without a Content-Encoding.")
        }
        let place = context.visiblePath(target.path)
        maySee = place != nil
        // After a PUT, the path has the content that was put.
        let conflict = try target.conflictPolicy() ?? .overwrite
        do throws(HTTPFault) {
            let preconditions = try Preconditions(fields, now: .now)
            isOnlyNew = preconditions.demandsNothing
            conditions = HTTPConditions(preconditions, on: place)
            guard conditions.hold(context.files) else { throw .conditionsFail }
            sha256 = try Self.sha256(fields)
        } catch {
            throw HTTPRefusal(conditions: error)
        }
        let function = try target.digestFunction(fields)
        isOfOwnCloud = !fields.values(ModificationTime.ownCloudField).isEmpty
        let modified = try request.reading { (fields) throws(HTTPFault) in try ModificationTime.read(fields) }
        var size: UInt64?
        if case .length(let length) = request.body { size = length }
        if case .none = request.body { size = 0 }
        intent = UploadIntent(
            id: context.caller.inner(context.newID()), path: target.path, size: size, kind: .file, function: function,
            conflict: isOnlyNew ? .fail : conflict, modified: modified)
    }

    /// The SHA-256 that the fields state. Both fields mean the same here, because content is never encoded.
    ///
    /// - Throws: 400 if it cannot be compared, or if the two fields contradict each other.
    static func sha256(_ fields: HTTPFields) throws(HTTPFault) -> [UInt8]? {
        let ofFile = try DigestField.sha256("repr-digest", of: fields)
        let ofContent = try DigestField.sha256("content-digest", of: fields)
        guard let ofFile, let ofContent else { return ofFile ?? ofContent }
        guard ofFile == ofContent else {
            throw HTTPFault(400, "Repr-Digest and Content-Digest have different digests of the same bytes.")
        }
        return ofFile
    }
}

extension HTTPTarget {
    /// The conflict policy in the query.
    ///
    /// - Returns: nil if the query has none.
    func conflictPolicy() throws(HTTPRefusal) -> ConflictPolicy? {
        let asked: String?
        do throws(HTTPFault) {
            asked = try query.only("on-conflict")
        } catch {
            throw HTTPRefusal(error)
        }
        guard let asked else { return nil }
        let policies: [(String, ConflictPolicy)] = [
            ("overwrite", .overwrite), ("keep-both", .keepBoth), ("skip", .skip), ("fail", .fail),
        ]
        guard let policy = policies.first(where: { $0.0.hasSameBytes(as: asked) }) else {
            throw HTTPRefusal(400, .wrongForm, "on-conflict must be overwrite, keep-both, skip or fail.")
        }
        return policy.1
    }

    /// The function by which the server digests an upload, as the query or the field `Transfer-Digest` asks for it; xxh128 by default.
    func digestFunction(_ fields: HTTPFields) throws(HTTPRefusal) -> DigestFunction {
        let asked: String?
        do throws(HTTPFault) {
            let field = try fields.only("transfer-digest")
            asked = try query.only("digest") ?? field
        } catch {
            throw HTTPRefusal(error)
        }
        guard let asked else { return .xxh128 }
        guard let function = DigestFunction.allCases.first(where: { $0.plain.name.hasSameBytes(as: asked) }) else {
            throw HTTPRefusal(
                400, .unsupportedDigest, "This server digests uploads by sha256 or xxh128: ask for one of these.")
        }
        return function
    }
}
