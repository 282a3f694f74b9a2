import TransferCodec
import TransferHTTP
import TransferIntake
import TransferModel
import TransferReceipts
import TransferStore
import TransferSystem

/// A request that brings a file (RFC 9110, section 9.3.4). Belongs to one task at a time.
final class HTTPUpload {
    let request: HTTPRequest
    let intent: UploadIntent

    /// What has become of it.
    var outcome: UploadOutcome?

    /// Of all the content, as it comes: digests of HTTP are of the whole, and the server's own are of its blocks.
    private let hasher = BlockHasher(.sha256)
    private var digest: [UInt8]?
    /// What its sender says that the digest is.
    private var declared: [UInt8]?
    /// Whether its sender may know what there was under the path before.
    let maySee: Bool
    let conditions: HTTPConditions
    /// Whether there must be nothing under the path (RFC 9110, section 13.1.2).
    let isOnlyNew: Bool
    private let began = monotonicNanoseconds()
    /// Whether its sender wants the receipt in the answer.
    let wantsReceipt: Bool
    /// For a sender that wants that digest in the answer.
    private let longHasher: LongHasher?
    private var longDigest: [UInt8]?

    /// - Parameter id: that nothing else has, as its sender sees it.
    /// - Throws: what speaks against it before its content comes.
    init(
        _ request: HTTPRequest, _ target: HTTPTarget, as id: UploadID, for client: Caller, _ files: ConnectionFiles
    ) throws(HTTPRefusal) {
        self.request = request
        guard !target.path.isEmpty, !target.isFolder else {
            throw HTTPRefusal(
                409, .wrongForm, "A file needs a name: put it to the path of a file, without a slash behind it.")
        }
        let fields = request.head.fields
        (wantsReceipt, longHasher) = (HTTPReceipt.isWanted(fields), Self.longHasher(fields))
        // Part of a file is no file (RFC 9110, section 14.5).
        guard fields.values("content-range").isEmpty else {
            throw HTTPRefusal(400, .wrongForm, "Part of a file cannot be put.")
        }
        guard fields.values("content-encoding").isEmpty else {
            throw HTTPRefusal(415, .wrongForm, "Send the file as it is, without a Content-Encoding.")
        }
        // Who may not read learns nothing by conditions.
        let place = (try? client.pathForReading(target.path)) ?? nil
        maySee = place != nil
        // What is put under a path is there afterwards.
        let conflict = try Self.policy(target) ?? .overwrite
        do throws(HTTPFault) {
            let preconditions = try Preconditions(fields, now: .now)
            isOnlyNew = preconditions.demandsNothing
            conditions = HTTPConditions(preconditions, on: place)
            guard conditions.hold(files) else { throw .conditionsFail }
            declared = try DigestField.sha256(of: fields)
        } catch {
            throw HTTPRefusal(error.status, error.status == 412 ? .pathConflict : .malformedFrame, error.message)
        }
        var size: UInt64?
        if case .length(let length) = request.body { size = length }
        if case .none = request.body { size = 0 }
        intent = UploadIntent(
            id: client.inner(id), path: target.path, size: size, kind: .file,
            conflict: isOnlyNew ? .fail : conflict)
    }

    /// - Returns: nothing where the request says nothing.
    static func policy(_ target: HTTPTarget) throws(HTTPRefusal) -> ConflictPolicy? {
        let asked: String?
        do throws(HTTPFault) {
            asked = try target.query.only("on-conflict")
        } catch {
            throw HTTPRefusal(error)
        }
        guard let asked else { return nil }
        let policies: [(String, ConflictPolicy)] = [
            ("overwrite", .overwrite), ("keep-both", .keepBoth), ("skip", .skip), ("fail", .fail),
        ]
        guard let policy = policies.first(where: { $0.0.hasSameBytes(as: asked) }) else {
            throw HTTPRefusal(400, .wrongForm, "on-conflict is one of overwrite, keep-both, skip and fail.")
        }
        return policy.1
    }

    func hash(_ bytes: UnsafeRawBufferPointer) {
        hasher.update(bytes)
        longHasher?.update(bytes)
    }

    private static func longHasher(_ fields: HTTPFields) -> LongHasher? {
        let wanted = DigestPreference(fields.values("want-repr-digest"))?.algorithms.first
        return wanted == .sha512 ? LongHasher() : nil
    }

    /// Compares what has come with what its sender says of it.
    ///
    /// - Throws: `digestMismatch`.
    func check(_ trailers: HTTPFields) throws(Failure) {
        let computed = hasher.finish()
        digest = computed
        longDigest = longHasher?.finish()
        do throws(HTTPFault) {
            for wanted in [declared, try DigestField.sha256(of: trailers)] {
                guard wanted ?? computed == computed else { throw HTTPFault(422, "") }
            }
        } catch {
            throw Failure(
                .digestMismatch, "What arrived does not have the SHA-256 that its sender gave: send it again.")
        }
    }
}

// MARK: Answers

extension HTTPUpload {
    func refusal(_ outcome: UploadOutcome, _ client: Caller) -> HTTPRefusal {
        let message = client.redacted(outcome.message)
        if isOnlyNew && outcome.code == .pathConflict || outcome.haveConditionsFailed {
            return HTTPRefusal(412, .pathConflict, message)
        }
        return HTTPRefusal(Failure(outcome.code, message))
    }

    /// What is stored, as JSON, too.
    ///
    /// - Parameter receipt: nothing where none is wanted, or there is none.
    func reply(_ acknowledgement: Acknowledgement, _ client: Caller, _ receipt: SignedReceipt?) -> HTTPReply {
        StoredReply(
            path: intent.path, tellsReplacing: maySee,
            digests: digest.map { DigestField(sha256: $0, sha512: longDigest) }, began: began
        ).reply(acknowledgement, client, receipt)
    }
}

extension DigestField {
    /// What a request says of all of its content. Both fields mean the same here: nothing is encoded.
    ///
    /// - Throws: 400 also where it says something that could not be compared: what is stored would seem to be verified.
    fileprivate static func sha256(of fields: HTTPFields) throws(HTTPFault) -> [UInt8]? {
        var digests: [[UInt8]] = []
        for name in ["repr-digest", "content-digest"] {
            guard let field = try DigestField(fields.values(name)) else { continue }
            guard let digest = field.sha256 else {
                throw HTTPFault(400, "Of digests, sha-256 is compared here: say that one.")
            }
            digests.append(digest)
        }
        guard digests.allSatisfy({ $0 == digests[0] }) else {
            throw HTTPFault(400, "Repr-Digest and Content-Digest say two things of the same bytes.")
        }
        return digests.first
    }
}

extension HTTPFault {
    static let conditionsFail = HTTPFault(412, Failure.conditionFails.message)
}

extension UploadOutcome {
    /// Whether the request's conditions did not hold.
    var haveConditionsFailed: Bool {
        if case .refused(.conditionFails, _) = self { true } else { false }
    }
}

extension Preconditions.Current {
    /// - Parameter digest: that was acknowledged of it.
    init(_ attributes: StoredAttributes, _ digest: Digest?) {
        // What changes with the file, where nobody knows its digest.
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

    /// - Parameter receipt: nothing where none is wanted, or there is none.
    func reply(
        _ acknowledgement: Acknowledgement, _ client: Caller, _ receipt: SignedReceipt? = nil
    ) -> HTTPReply {
        let stored = client.clientPath(acknowledgement.path)?.string ?? path
        var fields = [
            ("Location", "/" + PercentEncoding.path(stored.utf8)),
            ("ETag", EntityTag.text(acknowledgement.digest)),
            ("Transfer-Result", acknowledgement.code.name),
            ("Cache-Control", "no-store"),
        ]
        if let digests { fields.append(("Repr-Digest", digests.text)) }
        if let receipt { fields += HTTPReceipt.fields(receipt) }
        let document = UploadDocument(
            source: path, id: client.outer(acknowledgement.id), result: acknowledgement.code, storedPath: stored,
            kind: acknowledgement.kind, size: acknowledgement.size, digest: acknowledgement.digest,
            isDurable: acknowledgement.isDurable, isReplacing: acknowledgement.replaced == .other,
            seconds: Double(monotonicNanoseconds() - began) / 1e9)
        let isNew = acknowledgement.code == .committed && !(tellsReplacing && acknowledgement.replaced != .nothing)
        return HTTPReply(
            isNew ? 201 : 200, fields, document.json.terminated, type: "application/json")
    }
}
