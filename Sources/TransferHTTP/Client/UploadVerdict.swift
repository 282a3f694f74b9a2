package import TransferModel

/// What an answer means for an upload.
package enum UploadVerdict: Equatable, Sendable {
    /// Continue with the next step.
    case goOn
    /// The server reports that it has all content.
    case complete
    /// The name belongs to another file, which stays.
    case skipped
    /// A later attempt may succeed. The failure is reported if it doesn't.
    case wait(Failure, RetryAfter?)
    /// The upload begins again. The text says why, as a sentence for users without its period.
    case anew(String)
    case failed(Failure)
}

extension UploadVerdict {
    /// Interprets a status that has no special meaning for the request.
    ///
    /// - Parameter doing: the request, such as "PUT".
    static func other(_ head: ResponseHead, doing: String) -> UploadVerdict {
        let fault = Failure(code(head.status), "The server answered \(head.statusText) to \(doing).")
        guard isTransient(head.status) else { return .failed(fault) }
        return .wait(fault, RetryAfter(head.fields))
    }

    /// Whether a retry of a request with this answer may succeed.
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
    /// The status with its standard phrase; the server's own phrase is not used.
    package var statusText: String { HTTPStatus.reason(status).map { "\(status) \($0)" } ?? "\(status)" }
}
