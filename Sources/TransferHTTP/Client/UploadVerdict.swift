package import TransferModel

/// What an answer means for an upload.
package enum UploadVerdict: Equatable, Sendable {
    /// There is more to do: ask for the next step.
    case goOn
    /// The server says that it has all of it.
    case complete
    /// The name is taken, and is left as it is.
    case skipped
    /// It may help to go on after a while; the fault is what to say when it doesn't.
    case wait(Failure, RetryAfter?)
    /// The upload begins from the front, and that is to be told: a sentence without its period.
    case anew(String)
    case failed(Failure)
}

extension UploadVerdict {
    /// What a status means that a step has no meaning of its own for.
    ///
    /// - Parameter doing: what was asked, as "PUT".
    static func other(_ head: ResponseHead, doing: String) -> UploadVerdict {
        let fault = Failure(code(head.status), "The server answered \(head.statusText) to \(doing).")
        guard isTransient(head.status) else { return .failed(fault) }
        return .wait(fault, RetryAfter(head.fields))
    }

    /// What may be otherwise a moment later.
    private static func isTransient(_ status: Int) -> Bool {
        switch status {
        case 408, 423, 425, 429, 500, 502, 503, 504: true
        default: false
        }
    }

    private static func code(_ status: Int) -> ResultCode {
        switch status {
        case 401: .authenticationRequired
        case 403: .forbidden
        case 404, 410: .notFound
        case 400, 405, 411, 415, 501: .unsuitable
        case 409, 412: .pathConflict
        case 413: .uploadTooLarge
        case 414: .invalidPath
        case 422, 460: .digestMismatch
        case 408, 423, 425, 429, 502, 503, 504: .busy
        case 507: .insufficientStorage
        case 500..<600: .storageFailed
        default: .unsuitable
        }
    }
}

extension ResponseHead {
    /// The status with the phrase that belongs to it; not with the server's own words.
    package var statusText: String { HTTPStatus.reason(status).map { "\(status) \($0)" } ?? "\(status)" }
}
