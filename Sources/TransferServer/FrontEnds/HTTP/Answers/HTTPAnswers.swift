import TransferAccess
import TransferHTTP
import TransferModel
import TransferSystem

/// Heads and short bodies of answers.
enum HTTPAnswers {
    /// What every answer says. Without any referrer browsers would say `Origin: null` with forms of this server's own pages (Fetch,
    /// section 3.2.5). What is stored here was sent by others, and must not become a page of this server.
    private static let guarding: [(String, String)] = [
        ("X-Content-Type-Options", "nosniff"), ("Referrer-Policy", "same-origin"),
        ("Cross-Origin-Resource-Policy", "same-origin"), ("X-Frame-Options", "DENY"),
    ]

    /// Nothing is fetched, run, or sent: by pages of this server, and by what others have stored.
    static let noActiveContent =
        "default-src 'none'; style-src 'unsafe-inline'; form-action 'self'; frame-ancestors 'none'"
    static let sandbox = "sandbox; default-src 'none'; img-src 'self'; media-src 'self'; style-src 'unsafe-inline'"

    /// Bytes that most heads have room in.
    private static let usualRoom = 768

    /// - Parameters:
    ///   - isLast: whether the connection is closed behind it.
    ///   - length: of its body; nothing for one that says itself how long it is, or that has none.
    ///   - body: stands behind it.
    static func head(
        _ status: Int, _ fields: [(String, String)], length: UInt64? = nil, isLast: Bool = false,
        before body: [UInt8] = []
    ) -> [UInt8] {
        var head = AnswerHead(status, room: usualRoom + body.count)
        head.append("Date", HTTPDate.now.text)
        for (name, value) in fields { head.append(name, value) }
        for (name, value) in guarding { head.append(name, value) }
        if let length { head.append(length: length) }
        if isLast { head.append("Connection", "close") }
        // What cannot be said in a field, as a name with a line end, is never put there: see `ContentDisposition`.
        return head.bytes(before: body) ?? Self.unsayable
    }

    /// - Parameter answer: with its head in front, which doesn't speak of the connection.
    /// - Returns: the same, saying that the connection stays open.
    static func keepingOpen(_ answer: [UInt8]) -> [UInt8] { adding("Connection: keep-alive", to: answer) }

    /// - Parameter answer: with its head in front.
    /// - Returns: the same, which nobody keeps: it was for one who may be gone, on a machine that others use after him.
    static func forgotten(_ answer: [UInt8]) -> [UInt8] { adding("Cache-Control: no-store", to: answer) }

    /// Adds a field in front of the others.
    private static func adding(_ field: String, to answer: [UInt8]) -> [UInt8] {
        guard let end = answer.firstIndex(of: UInt8(ascii: "\n")) else { return answer }
        return answer[...end] + Array("\(field)\r\n".utf8) + answer[(end + 1)...]
    }

    private static let unsayable = Array(
        "HTTP/1.1 500 Internal Server Error\r\nContent-Length: 0\r\nConnection: close\r\n\r\n".utf8)

    /// An answer that has all of its body with it.
    static func whole(
        _ status: Int, _ fields: [(String, String)], _ body: [UInt8], type: String, for method: HTTPMethod, isLast: Bool
    ) -> [UInt8] {
        head(
            status, fields + [("Content-Type", type)], length: UInt64(body.count), isLast: isLast,
            before: method == .head ? [] : body)
    }

    /// Why a request is not met (RFC 9457).
    static func problem(
        _ status: Int, _ code: ResultCode, _ detail: String, _ fields: [(String, String)] = [], for method: HTTPMethod,
        isLast: Bool
    ) -> [UInt8] {
        whole(
            status, fields + [("Cache-Control", "no-store")], ProblemDetails(status, code, detail).bytes,
            type: ProblemDetails.contentType, for: method, isLast: isLast)
    }

    /// The last words of a connection.
    static func last(_ fault: HTTPFault, code: ResultCode) -> [UInt8] {
        problem(fault.status, code, fault.message, for: .get, isLast: true)
    }
}

extension ProblemDetails {
    /// Of this server: with its own code.
    init(_ status: Int, _ code: ResultCode, _ detail: String) {
        self.init(HTTPFault(status, detail))
        extensions = [("result", .string(code.name))]
    }
}

extension HTTPDate {
    static var now: HTTPDate { HTTPDate(clamping: utcNanoseconds() / 1_000_000_000) }
}

extension ResultCode {
    /// What HTTP calls it; successes have statuses of their own.
    var httpStatus: Int {
        switch self {
        case .authenticationRequired, .authenticationFailed: 401
        case .forbidden: 403
        case .notFound: 404
        case .invalidPath, .sizeMismatch, .malformedFrame: 400
        case .wrongForm, .pathConflict, .contentMismatch, .skipped, .fileChanged: 409
        case .uploadTooLarge: 413
        case .digestMismatch: 422
        case .insufficientStorage, .quotaExceeded: 507
        case .busy, .shuttingDown: 503
        case .incomplete: 409
        case .timedOut: 408
        default: self.class == .server ? 500 : 400
        }
    }
}
