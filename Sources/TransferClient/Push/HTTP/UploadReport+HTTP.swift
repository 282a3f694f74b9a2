import TransferHTTP
import TransferModel
import TransferProtocol

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
