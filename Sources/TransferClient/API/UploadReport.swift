import Synchronization
import TransferClassic
import TransferHTTP
import TransferKeys
public import TransferModel
import TransferProtocol
public import TransferReceipts
import TransferSystem

/// The outcome of one upload.
public struct UploadReport: Sendable, Equatable {
    /// The source of the content: the path as it was given or found, or the name if there is no path.
    public var source: String

    /// What the source is: a file, unless `ClientConfiguration.archives` is set.
    public var form = EntryForm.file

    /// The id under which the server knows the upload; a repeated upload of the same content has the same id.
    public var uploadID: UploadID

    /// The server's acknowledgement, or the reason why the upload has no acknowledgement.
    public var result: ResultCode

    /// The path of the content, relative to the server's directory; nil unless it is stored.
    public var storedPath: String?

    /// The names of the recipients; empty for an upload that is stored under a path.
    public var recipients: [String] = []

    /// Whether the upload is sealed, so that the server cannot read it. Then kind and size are those of the source, and
    /// the digest is that of the encrypted content.
    public var isSealed = false

    /// The kind of content, given or detected.
    public var kind: ContentKind

    /// The size of the content in bytes.
    public var size: UInt64

    /// The digest that the server computed of the stored content; nil if the server stated no digest.
    public var digest: Digest?

    /// Whether the server has compared the stored content with what was sent. Servers of classic framings and other
    /// HTTP servers may say that they have the content without comparing it.
    public var isVerified: Bool { result == .committed || result == .alreadyStored || isComparedElsewhere }

    /// Whether the server had synced the file and its directory to disk before it answered.
    public var isDurable = false

    /// Whether the upload replaced other content at its path (`ConflictPolicy.overwrite`). It is false if the server
    /// does not say so, as with older servers and other HTTP servers.
    public var hasReplaced = false

    /// The batch in the server's trash that has the replaced content; nil if the content is not kept, or if the server
    /// no longer knows the batch.
    public var trash: TrashedBatch?

    /// The server's signed receipt, which was verified and describes this upload. It exists if receipts are wanted and
    /// the upload is stored; if it is missing or wrong, the result is `badReceipt`.
    public var receipt: SignedReceipt?

    /// The format and dimensions of a picture; nil if the content was not examined or is no picture.
    public var picture: Picture?

    /// What the server has found out by decoding the picture; nil if it was not asked (`TransferClient.checkPictures`).
    public var check: PictureCheck?

    /// The number of times that sending began; 0 if the server knew the upload already.
    public var attempts = 0

    /// The path that the client asked for, including the server's folder; nil if the upload failed before it had a
    /// path.
    package var destination: String?

    /// Whether a server of another make has compared a digest that the client sent, or has stated the digest of what
    /// was sent.
    package var isComparedElsewhere = false

    /// The name under which a server lists the upload; nil without a path.
    package var listedName: String? { isSealed ? SealedUpload.wirePath : destination }

    /// Whether `source` is a local path, by which it can be pushed again.
    package var isPath = false

    /// Seconds for which the server keeps the part that has arrived, so that the same command continues from there; nil
    /// if it keeps nothing.
    package var keptFor: UInt32?

    /// Whether the caller named the source, instead of a directory that contains it: skipping a named source is a
    /// failure.
    package var isNamed = false

    /// The place of the source; nil if it has no local path.
    var place: SourcePlace?

    /// The identity of the file that was read, or that was looked up on the server instead of being read; nil if the
    /// source is no file.
    var file: SourceFile.Identity?

    /// Whether the stored entry existed already and now has other permissions, times, extended attributes or another
    /// owner.
    package var hasNewAttributes = false

    /// The symbolic link that was sent; nil for other sources.
    var link: SentLink?

    /// Whether this push has read all of the content and compared it with the acknowledgement.
    var isRead = false

    /// Seconds from the start of reading to the result.
    public var seconds = 0.0

    /// A sentence for the user; empty if there is nothing to say.
    public var message = ""
}

extension UploadReport {
    /// Makes the report of an upload from the server's result.
    init(_ upload: PendingUpload, _ result: UploadResult) {
        self.init(
            source: upload.label, uploadID: upload.id, result: result.code,
            storedPath: result.isAcknowledgement ? result.storedPath ?? upload.destination : nil, kind: upload.kind,
            size: upload.size ?? result.size, digest: result.digest, isDurable: result.isDurable,
            seconds: Double(monotonicNanoseconds() - upload.started) / 1e9, message: result.message)
        hasReplaced = result.hasReplaced
        trash = result.trash.map { TrashedBatch($0) }
        describe(upload)
    }

    /// Adds what only the client knows.
    mutating func describe(_ upload: PendingUpload) {
        destination = upload.sealed?.path.string ?? upload.destination
        isPath = upload.isFile
        place = upload.place
        file = upload.file
        picture = upload.picture
        attempts = upload.begun.load(ordering: .relaxed)
        if let sealed = upload.sealed {
            (isSealed, kind, size) = (true, sealed.kind, sealed.size ?? size)
        } else if let record = upload.record {
            (isSealed, kind, size) = (true, record.kind, record.size)
        }
    }

    /// Takes the receipt of an acknowledgement if it is valid; otherwise the upload fails with `badReceipt`.
    mutating func take(_ signed: Result<SignedReceipt, ReceiptFault>) {
        switch signed {
        case .success(let signed): receipt = signed
        case .failure(let fault):
            result = .badReceipt
            message = "Stored, but the receipt is not valid: \(fault.phrase)."
        }
    }
}

extension UploadReport {
    /// Makes the report of an upload from the verdict of a server of a classic framing.
    ///
    /// - Parameter sha256: the declared digest, which a verified success confirms.
    init(_ upload: PendingUpload, _ verdict: ClassicVerdict, sha256: [UInt8]?) {
        switch verdict {
        case .stored:
            self = .failed(
                upload,
                Failure(
                    .stored, "The server reports that it is stored (verified: no, durable: unknown)."))
        case .failed:
            self = .failed(
                upload,
                Failure(.storageFailed, "The server reports a failure without a reason."))
        case .result(let result):
            self = .failed(upload, Failure(result.code, result.message ?? ""))
            guard isVerified else { return }
            storedPath = result.path ?? result.name
            digest = sha256.map { Digest(.sha256, $0) }
        }
    }
}

/// Reports from successful HTTP answers. They claim no more than the server says, and only what the client can compare
/// counts as verified.
extension UploadReport {
    /// - Parameter policy: the conflict policy that the server received.
    init(_ upload: PendingUpload, _ job: HTTPJob, _ answer: HTTPAnswer, _ policy: ConflictPolicy) {
        let own = job.content.sha256
        let told = (try? DigestField(answer.head.fields.values("repr-digest")))?.sha256
        if let own, let told, own != told {
            let message =
                "The server reports that it stored other content than this client sent: the SHA-256 "
                + "differs (verified: no)."
            self = .failed(upload, Failure(.digestMismatch, message))
            return
        }
        let isCompared = told != nil && own != nil
        if let code = answer.result, code == .skipped ? policy == .skip : isCompared {
            self = .failed(upload, Failure(code, answer.json?["message"].text ?? ""))
            guard isVerified else { return }
            storedPath = answer.json?["storedPath"].text.flatMap { (try? RelativePath($0))?.string }
            isDurable = answer.json?["durable"] == .bool(true)
            hasReplaced = answer.json?["replaced"] == .bool(true)
        } else if answer.cut != nil {
            let message =
                "The server answered \(answer.head.statusText) before all of the content was sent: "
                + "what it stored is not known."
            self = .failed(upload, Failure(.unacknowledged, message))
            return
        } else {
            let isPieces = if case .tus(let machine) = job.machine { machine.isCompared } else { false }
            let message = Self.words(answer, job.machine, isCompared: isCompared, isPieces: isPieces)
            self = .failed(upload, Failure(.stored, message))
            isComparedElsewhere = isCompared || isPieces
        }
        digest = isCompared ? own.map { Digest(.sha256, $0) } : nil
    }

    private static func words(
        _ answer: HTTPAnswer, _ machine: HTTPJob.Machine, isCompared: Bool, isPieces: Bool
    ) -> String {
        let path =
            switch machine {
            case .tus(let machine): machine.location ?? answer.target
            case .put(let machine): machine.path
            }
        let compared =
            if isCompared {
                "it returned the SHA-256 of the content that was sent"
            } else if isPieces {
                "it compared the digest of every piece"
            } else {
                "it did not compare the content"
            }
        return
            "The server answered \(answer.head.statusText) for \(path): \(compared), and it is not "
            + "known whether the content is durable (verified: \(isCompared || isPieces ? "yes" : "no"), "
            + "durable: unknown)."
    }
}

extension HTTPAnswer {
    /// The success that a Transfer server states in `Transfer-Result`; nil if it states none.
    fileprivate var result: ResultCode? {
        guard let value = head.fields.values("transfer-result").first else { return nil }
        return [ResultCode.committed, .alreadyStored, .skipped].first { value.elementsEqual($0.name.utf8) }
    }

    /// The reason of a refusal that a Transfer server states in its problem details; nil if it states none.
    fileprivate var refusal: ResultCode? {
        guard let name = json?["result"].text else { return nil }
        return ResultCode.all.first {
            !$0.code.isSuccess && $0.code.class != .client && $0.name.hasSameBytes(as: name)
        }?
        .code
    }
}

extension JSONNode? {
    fileprivate var text: String? { if case .string(let text)? = self { text } else { nil } }
}

extension Failure {
    /// The most bytes of a server's own words that a message repeats: a sentence or two.
    private static let mostWords = 500

    /// - Parameter answer: the HTTP answer, which may explain the fault, as problem details do (RFC 9457).
    static func answered(_ fault: Failure, _ answer: HTTPAnswer) -> Failure {
        let words = answer.json?["detail"].text ?? answer.json?["message"].text
        let shown = words.map { String(decoding: $0.utf8.prefix(mostWords), as: UTF8.self) }
        // Only an error status may change the code: with any other status, the client itself has found the fault.
        let code = answer.head.status >= 400 ? answer.refusal ?? fault.code : fault.code
        return Failure(code, shown.map { "\(fault.message) It says: \($0)" } ?? fault.message)
    }
}
