import TransferHTTP
import TransferIntake
import TransferModel
import TransferReceipts
import TransferPorts
import TransferSystem

/// The upload of one request, whether it is put, or appended to by tus or as the IETF has it: hands it to the intake, and keeps
/// what becomes of it. Nothing else of HTTP but a form stores or acknowledges anything.
///
/// Used by one thread at a time, in this order:
///
/// ```
///   begin ──► write ──► write ──► … ──► finish ──► outcome, acknowledgement
///     └───────────┴──── settled ────────────┴────► outcome: the rest is ignored
/// ```
final class RequestUpload {
    let intent: UploadIntent

    /// What has become of it; nil while it is under way.
    private(set) var outcome: UploadOutcome?

    private let wantsReceipt: Bool
    private let uploads: ConnectionUploads

    init(_ intent: UploadIntent, of request: HTTPRequest, _ uploads: ConnectionUploads) {
        (self.intent, self.uploads) = (intent, uploads)
        wantsReceipt = HTTPReceipt.isWanted(request.head.fields)
    }

    /// - Parameter mayEnd: whether its sender waits for an answer before the content, which need not come then.
    /// - Returns: whether its content is wanted.
    func begin(mayEnd: Bool) -> Bool {
        settled(uploads.begin(intent, mayEnd: mayEnd))
        return outcome == nil
    }

    /// Gives content to it, or compares what has come. A failure is its result.
    func write(_ body: (OpenUpload) throws(Failure) -> Void) { settled(uploads.write(body)) }

    /// All content has come: stores it, and acknowledges that.
    func finish() {
        guard outcome == nil else { return }
        uploads.intake.giveReceipts(wantsReceipt)
        defer { uploads.intake.giveReceipts(false) }
        uploads.finish(DeclaredEnd()).forEach(settled)
        guard outcome == nil else { return }
        uploads.publish().forEach(settled)
        for batch in uploads.acknowledge() { batch.settled.forEach(settled) }
    }

    /// Its sender gives it up.
    func abort() { settled(uploads.abort()) }

    /// - Parameter settled: nil if no upload has its result; of another upload it says nothing about this one.
    func settled(_ settled: EndedUpload?) {
        if let settled, settled.upload.intent.id == intent.id { outcome = settled.outcome }
    }
}

/// What the answer says of it.
extension RequestUpload {
    /// - Parameter isOnlyNew: whether the request demands that there is nothing under the path (RFC 9110, section 13.1.2).
    /// - Throws: why it is not stored.
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

    /// - Returns: nil where the request wants no receipt, or there is none.
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
    /// What has come is not what the request says.
    static let hasOtherDigest = Failure(
        .digestMismatch, "What arrived does not have the SHA-256 that its sender gave: send it again.")
}

extension DigestField {
    /// What a field of this name says.
    ///
    /// - Returns: nil if there is none.
    /// - Throws: 400 also where it says something that could not be compared: what is stored would seem to be verified.
    static func sha256(_ name: String, of fields: HTTPFields) throws(HTTPFault) -> [UInt8]? {
        guard let field = try DigestField(fields.values(name)) else { return nil }
        guard let digest = field.sha256 else {
            throw HTTPFault(400, "Of digests, sha-256 is compared here: say that one.")
        }
        return digest
    }

    /// Reads what stands behind the content, where the upload has to end with a failure.
    ///
    /// - Throws: `malformedFrame` where it cannot be read.
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
    /// - Parameter digest: that was acknowledged of it.
    init(_ attributes: StoredAttributes, _ digest: Digest?) {
        // What changes with the file, where its digest is not known.
        let text = digest.map { EntityTag.opaque($0) } ?? attributes.fileVersion.hexadecimal
        self.init(tag: EntityTag(text.utf8), modified: HTTPDate(clamping: attributes.modified.seconds))
    }
}

extension EntityTag {
    fileprivate static func opaque(_ digest: Digest) -> String { "\(digest.algorithm.name)-\(digest.hexadecimal)" }

    /// As it stands in a field.
    static func text(_ digest: Digest) -> String { "\"\(opaque(digest))\"" }

    var text: String { String(decoding: bytes, as: UTF8.self) }
}

extension FileVersion {
    fileprivate var hexadecimal: String {
        UploadID(high: high, low: low).description
    }
}

/// The answer to an upload that is stored, whatever way it came in.
struct StoredReply {
    /// As its sender has named it.
    let path: String

    /// Whether its sender may know that there was something under the path before.
    var tellsReplacing = false

    /// Of all of it, where they were computed.
    var digests: DigestField?

    /// When it began, in nanoseconds of the monotonic clock.
    let began: Int64

    /// - Parameter receipt: nil where none is wanted, or there is none.
    func reply(
        _ acknowledgement: Acknowledgement, _ caller: Caller, _ receipt: SignedReceipt? = nil
    ) -> HTTPReply {
        let stored = caller.clientPath(acknowledgement.path)?.string ?? path
        var fields = [
            ("Location", "/" + PercentEncoding.path(stored.utf8)),
            ("ETag", EntityTag.text(acknowledgement.digest)),
            ("Transfer-Result", acknowledgement.code.name),
            ("Cache-Control", "no-store"),
        ]
        if let digests { fields.append(("Repr-Digest", digests.text)) }
        if let receipt { fields += HTTPReceipt.fields(receipt) }
        let document = UploadDocument(
            source: path, id: caller.outer(acknowledgement.id), result: acknowledgement.code, storedPath: stored,
            kind: acknowledgement.kind, size: acknowledgement.size, digest: acknowledgement.digest,
            isDurable: acknowledgement.isDurable, isReplacing: acknowledgement.replaced == .other,
            seconds: Double(monotonicNanoseconds() - began) / 1e9)
        let isNew = acknowledgement.code == .committed && !(tellsReplacing && acknowledgement.replaced != .nothing)
        return HTTPReply(
            isNew ? 201 : 200, fields, document.json.terminated, type: "application/json")
    }
}
