import TransferHTTP
import TransferIntake
import TransferModel
import TransferReceipts
import TransferPorts
import TransferSystem

/// The upload of one request, by PUT or by a resumable protocol: hands it to the intake, and keeps its outcome. Besides this, only forms
/// store and acknowledge uploads over HTTP.
///
/// Used by one thread at a time, in this order:
///
/// ```
///   begin ──► write ──► write ──► … ──► finish ──► outcome, acknowledgement
///     └───────────┴──── settled ────────────┴────► outcome: the rest is ignored
/// ```
final class RequestUpload {
    let intent: UploadIntent

    /// The outcome; nil while the upload is under way.
    private(set) var outcome: UploadOutcome?

    private let wantsReceipt: Bool
    private let uploads: ConnectionUploads

    init(_ intent: UploadIntent, of request: HTTPRequest, _ uploads: ConnectionUploads) {
        (self.intent, self.uploads) = (intent, uploads)
        wantsReceipt = HTTPReceipt.isWanted(request.head.fields)
    }

    /// - Parameter mayEnd: whether the client waits for an answer before it sends the content, and sends none if the upload is settled.
    /// - Returns: whether the content is wanted.
    func begin(mayEnd: Bool) -> Bool {
        settled(uploads.begin(intent, mayEnd: mayEnd))
        return outcome == nil
    }

    /// Gives content to the upload, or checks it. A failure becomes the result of the upload.
    func write(_ body: (OpenUpload) throws(Failure) -> Void) { settled(uploads.write(body)) }

    /// Ends the content: stores and acknowledges the upload.
    func finish() {
        guard outcome == nil else { return }
        uploads.intake.giveReceipts(wantsReceipt)
        defer { uploads.intake.giveReceipts(false) }
        uploads.finish(DeclaredEnd()).forEach(settled)
        guard outcome == nil else { return }
        uploads.publish().forEach(settled)
        for batch in uploads.acknowledge() { batch.settled.forEach(settled) }
    }

    /// Gives the upload up; its content is deleted.
    func abort() { settled(uploads.abort()) }

    /// - Parameter settled: nil if no upload was settled; another upload's result is ignored.
    func settled(_ settled: EndedUpload?) {
        if let settled, settled.upload.intent.id == intent.id { outcome = settled.outcome }
    }
}

/// The parts of the answer that concern the upload.
extension RequestUpload {
    /// - Parameter isOnlyNew: whether the request demands that the path has no file (RFC 9110, section 13.1.2).
    /// - Throws: why the upload is not stored.
    func acknowledgement(isOnlyNew: Bool) throws(HTTPRefusal) -> Acknowledgement {
        guard let outcome else {
            throw HTTPRefusal(500, .storageFailed, "The server lost track of the upload: send it again.")
        }
        if case .acknowledged(let acknowledgement) = outcome { return acknowledgement }
        var refusal = HTTPRefusal(Failure(outcome.code, outcome.message))
        if outcome.haveConditionsFailed || isOnlyNew && outcome.code == .pathConflict {
            refusal = HTTPRefusal(412, outcome.code, outcome.message)
        }
        refusal.isLogged = true
        throw refusal
    }

    /// - Returns: nil if the request wants no receipt, or if the server gives none.
    func receipt(of acknowledgement: Acknowledgement) -> SignedReceipt? {
        wantsReceipt ? uploads.intake.receipt(of: acknowledgement.id) : nil
    }
}

extension UploadOutcome {
    /// Whether the request's conditions did not hold.
    fileprivate var haveConditionsFailed: Bool {
        if case .refused(.conditionFails, _) = self { true } else { false }
    }
}

extension Failure {
    /// The content does not have the digest that the request states.
    static let hasOtherDigest = Failure(
        .digestMismatch, "The content that arrived does not have the declared SHA-256: send it again.")
}

extension DigestField {
    /// The SHA-256 in a field of this name.
    ///
    /// - Returns: nil if there is no such field.
    /// - Throws: 400, also if the field has only other digests: the client would believe that they were verified.
    static func sha256(_ name: String, of fields: HTTPFields) throws(HTTPFault) -> [UInt8]? {
        guard let field = try DigestField(fields.values(name)) else { return nil }
        guard let digest = field.sha256 else {
            throw HTTPFault(400, "The only digest that this server compares is sha-256: send that one.")
        }
        return digest
    }

    /// Reads trailers of a request whose upload has to end with a failure if they are malformed.
    ///
    /// - Throws: `malformedFrame` if they cannot be parsed.
    static func read<T>(_ trailers: () throws(HTTPFault) -> T) throws(Failure) -> T {
        do throws(HTTPFault) {
            return try trailers()
        } catch {
            throw Failure(.malformedFrame, error.message)
        }
    }
}

extension HTTPFault {
    static let conditionsFail = HTTPFault(412, Failure.conditionFails.message)
}

extension Preconditions.Current {
    /// - Parameter digest: the acknowledged digest of the file; nil if it is not known.
    init(_ attributes: StoredAttributes, _ digest: Digest?) {
        // Without a digest, the version serves as the tag, because it changes with the file.
        let text = digest.map { EntityTag.opaque($0) } ?? attributes.fileVersion.hexadecimal
        self.init(tag: EntityTag(text.utf8), modified: HTTPDate(clamping: attributes.modified.seconds))
    }
}

extension EntityTag {
    fileprivate static func opaque(_ digest: Digest) -> String { "\(digest.algorithm.name)-\(digest.hexadecimal)" }

    /// The entity tag as it is written in a field.
    static func text(_ digest: Digest) -> String { "\"\(opaque(digest))\"" }

    var text: String { String(decoding: bytes, as: UTF8.self) }
}

extension FileVersion {
    fileprivate var hexadecimal: String {
        UploadID(high: high, low: low).description
    }
}

/// The answer to an upload that is stored, by any kind of request.
struct StoredReply {
    /// The path that the client asked for.
    let path: String

    /// Whether the client may learn that the path had a file before.
    var tellsReplacing = false

    /// Digests of the whole, if they were computed.
    var digests: DigestField?

    /// Whether the request declared a digest of the whole content, which was compared.
    var isCompared = false

    /// When the upload began, in nanoseconds of the monotonic clock.
    let began: Int64

    /// - Parameter path: as the client knows it.
    static func location(_ path: String) -> String { "/" + PercentEncoding.path(path.utf8) }

    /// The fields that say what is stored.
    static func fields(_ acknowledgement: Acknowledgement) -> [(String, String)] {
        [
            ("ETag", EntityTag.text(acknowledgement.digest)), ("Transfer-Result", acknowledgement.code.name),
            ("Transfer-Durable", acknowledgement.isDurable ? "?1" : "?0"),
        ]
    }

    /// - Parameter receipt: nil if the request wants no receipt, or if the server gives none.
    func reply(
        _ acknowledgement: Acknowledgement, _ caller: Caller, _ receipt: SignedReceipt? = nil
    ) -> HTTPReply {
        let stored = caller.clientPath(acknowledgement.path)?.string ?? path
        var fields =
            [("Location", Self.location(stored))] + Self.fields(acknowledgement) + [("Cache-Control", "no-store")]
        if let digests { fields.append(("Repr-Digest", digests.text)) }
        if let receipt { fields += HTTPReceipt.fields(receipt) }
        let document = UploadDocument(
            source: path, id: caller.outer(acknowledgement.id), result: acknowledgement.code, storedPath: stored,
            kind: acknowledgement.kind, size: acknowledgement.size, digest: acknowledgement.digest,
            isVerified: isCompared, isDurable: acknowledgement.isDurable,
            isReplacing: acknowledgement.replaced == .other, seconds: Double(monotonicNanoseconds() - began) / 1e9)
        let isNew = acknowledgement.code == .committed && !(tellsReplacing && acknowledgement.replaced != .nothing)
        return HTTPReply(
            isNew ? 201 : 200, fields, document.json.terminated, type: "application/json")
    }
}
