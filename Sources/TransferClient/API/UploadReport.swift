import Synchronization
import TransferClassic
import TransferHTTP
import TransferKeys
public import TransferModel
import TransferProtocol
public import TransferReceipts
import TransferSystem

/// How one upload ended.
public struct UploadReport: Sendable, Equatable {
    /// Where the content came from: the path as it was given or found, or the name of what had none.
    public var source: String

    /// What it is: a file, unless `ClientConfiguration.archives` is set.
    public var form = EntryForm.file

    /// The idempotency key under which the server knows the upload.
    public var uploadID: UploadID

    /// The server's acknowledgement, or why it never came to one.
    public var result: ResultCode

    /// Where the content is, relative to the server's directory; nothing unless it is stored.
    public var storedPath: String?

    /// Whom it is for; nobody of what is stored under a path.
    public var recipients: [String] = []

    /// Whether the server cannot read it. Then kind and size are those of what was sealed, and the digest is that of what the
    /// server has.
    public var isSealed = false

    /// What it is.
    public var kind: ContentKind

    /// Bytes of content.
    public var size: UInt64

    /// As the server computed it from what it stored.
    public var digest: Digest?

    /// Whether the server has compared what it stored with what was sent. A server of a classic framing may say that it has
    /// the content without that, and so may one of HTTP that is not Transfer's.
    public var isVerified: Bool { result == .committed || result == .alreadyStored || isComparedElsewhere }

    /// Whether the server had synced file and directory before it answered.
    public var isDurable = false

    /// Whether it took the place of other content that had the name (`ConflictPolicy.overwrite`). A server that is older than
    /// this client, or not Transfer's, doesn't say: then it is false.
    public var hasReplaced = false

    /// The part of the server's trash that has that content; nil where it is not kept, or where the server does not know that any more.
    public var trash: TrashedBatch?

    /// What the server signed; verified, and about this upload. There where receipts are wanted and the upload is stored;
    /// if it should be and isn't, the result is `badReceipt`.
    public var receipt: SignedReceipt?

    /// What kind of picture it is and how large, where the content was looked at and says so.
    public var picture: Picture?

    /// How often it was begun to send it; 0 of what the server knew without.
    public var attempts = 0

    /// The path that was asked for, the server's folder included; nothing when there was none yet.
    package var destination: String?

    /// Whether a server that is not Transfer's has compared a digest that it was given, or names that of what was sent.
    package var isComparedElsewhere = false

    /// The name that a server lists it under.
    package var listedName: String? { isSealed ? SealedUpload.wirePath : destination }

    /// Whether `source` is the path of a file or a directory here, so that it can be pushed again by it.
    package var isPath = false

    /// Seconds for which the server keeps what has arrived of it, so that the same command goes on from there; nothing where it keeps
    /// nothing.
    package var keptFor: UInt32?

    /// Whether it was named, and not found in a directory: to skip what was named is to fail.
    package var isNamed = false

    /// Where the source is; nil of what has no path here.
    var place: SourcePlace?

    /// The file that the content was read from, or that stood for it; nothing of what is no file.
    var file: SourceFile.Identity?

    /// Whether it was there and has other permissions, another time, other extended attributes or another owner now.
    package var hasNewAttributes = false

    /// What a symbolic link was that was sent.
    var link: SentLink?

    /// Whether all of the content was read for this push and compared with the acknowledgement.
    var isRead = false

    /// From the start of reading to the result.
    public var seconds = 0.0

    /// A sentence for people; empty when there is nothing to say.
    public var message = ""
}

extension UploadReport {
    /// For what the server answered.
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

    /// Says what only this side knows.
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

    /// Takes over the receipt of an acknowledgement, if it is good; otherwise that is how the upload ends.
    mutating func take(_ signed: Result<SignedReceipt, ReceiptFault>) {
        switch signed {
        case .success(let signed): receipt = signed
        case .failure(let fault):
            result = .badReceipt
            message = "Stored, but the receipt is no good: \(fault.phrase)."
        }
    }
}

extension UploadReport {
    /// For what a server of a classic framing said.
    ///
    /// - Parameter sha256: as it was declared, which is what a verified success is about.
    init(_ upload: PendingUpload, _ verdict: ClassicVerdict, sha256: [UInt8]?) {
        switch verdict {
        case .stored:
            self = .failed(
                upload,
                Failure(
                    .stored, "The other side says that it is stored (verified: no, durable: unknown)."))
        case .failed:
            self = .failed(
                upload,
                Failure(.storageFailed, "The other side says that it has failed, and not why."))
        case .result(let result):
            self = .failed(upload, Failure(result.code, result.message ?? ""))
            guard isVerified else { return }
            storedPath = result.path ?? result.name
            digest = sha256.map { Digest(.sha256, $0) }
        }
    }
}

/// What an answer of success comes to: no more than the server says, and only what this side can compare counts as verified.
extension UploadReport {
    /// - Parameter policy: that the server was told for names that are taken.
    init(_ upload: PendingUpload, _ job: HTTPJob, _ answer: HTTPAnswer, _ policy: ConflictPolicy) {
        let own = job.content.sha256
        let told = (try? DigestField(answer.head.fields.values("repr-digest")))?.sha256
        if let own, let told, own != told {
            let message =
                "The server says that it has stored other content than was sent: its SHA-256 is another one (verified: no)."
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
                "The server answered \(answer.head.statusText) before all of the content had left: nobody knows what it has."
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
                "it names the SHA-256 of what was sent"
            } else if isPieces {
                "it has compared the digest of every piece"
            } else {
                "it has compared nothing"
            }
        return
            "The server answered \(answer.head.statusText) for \(path): \(compared), and nothing is known of whether it is "
            + "durable (verified: \(isCompared || isPieces ? "yes" : "no"), durable: unknown)."
    }
}

extension HTTPAnswer {
    /// What a server of ours says became of an upload.
    fileprivate var result: ResultCode? {
        guard let value = head.fields.values("transfer-result").first else { return nil }
        return [ResultCode.committed, .alreadyStored, .skipped].first { value.elementsEqual($0.name.utf8) }
    }

    /// What a server of ours says why it did not do something: the code of its problem details.
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
    /// Bytes of a server's own words that are passed on: a sentence or two.
    private static let mostWords = 500

    /// - Parameter answer: which may say more, as problem details do (RFC 9457).
    static func answered(_ fault: Failure, _ answer: HTTPAnswer) -> Failure {
        let words = answer.json?["detail"].text ?? answer.json?["message"].text
        let shown = words.map { String(decoding: $0.utf8.prefix(mostWords), as: UTF8.self) }
        // What this side has found out is not for the server to call otherwise.
        let code = answer.head.status >= 400 ? answer.refusal ?? fault.code : fault.code
        return Failure(code, shown.map { "\(fault.message) It says: \($0)" } ?? fault.message)
    }
}
