import TransferAccess
import TransferHTTP
import TransferIO
import TransferIntake
import TransferModel
import TransferPorts
import TransferSystem

/// An answer that is made piece by piece, because it is long: `HTTPSteps` asks for the head once, and has the answer fill an outcome in
/// each turn until it says that this was the end. Used by one thread at a time.
protocol HTTPAnswer: AnyObject {
    /// As the log calls what it is about.
    var path: String { get }

    /// The file, should it turn out to be rotten.
    var suspect: RottenFile? { get }

    /// Whether only the end of the connection says where it ends.
    var endsConnection: Bool { get }

    /// Whether the head can be said before the rest is known.
    var headComesFirst: Bool { get }

    /// Whether it asks itself if the client may still have it.
    var watchesAccess: Bool { get }

    /// - Parameter isLast: whether the connection is closed behind it.
    func head(isLast: Bool) -> [UInt8]

    /// Adds as much as there is room for.
    ///
    /// - Returns: whether that was the end.
    /// - Throws: why it cannot be completed.
    func fill(_ outcome: inout HTTPOutcome, from pool: BufferPool) throws(Failure) -> Bool

    /// Whether it goes on until one of both sides ends it, so that nothing comes behind it.
    var isEndless: Bool { get }

    /// What the client gets in its place, when it is made; nil where it is itself what the client gets.
    var successor: (any HTTPAnswer)? { get }

    /// An upload that the answer is about has its result while others have their turn.
    func settled(_ settled: EndedUpload)

    /// What there is to say of it in the log, when all is made.
    func events(peer: String) -> [LogEvent]
}

extension HTTPAnswer {
    var endsConnection: Bool { false }
    var headComesFirst: Bool { true }
    var watchesAccess: Bool { false }
    var suspect: RottenFile? { nil }
    var isEndless: Bool { false }
    var successor: (any HTTPAnswer)? { nil }
    func settled(_ settled: EndedUpload) {}
}

/// A short answer.
struct HTTPReply {
    var status: Int
    var fields: [(String, String)]
    var body: [UInt8]
    /// Nil for one without a body.
    var type: String?

    /// Whether the content of the request is not wanted: where much of it may still come, the connection ends behind the answer.
    var rejectsContent = false

    init(_ status: Int, _ fields: [(String, String)] = [], _ body: [UInt8] = [], type: String? = nil) {
        (self.status, self.fields, self.body, self.type) = (status, fields, body, type)
    }

    /// Says why a request is not met (RFC 9457).
    ///
    /// - Parameter client: is told nothing of what is above its own folder.
    init(_ refusal: HTTPRefusal, for caller: Caller) {
        if let page = refusal.page {
            self = .page(refusal.status, page, refusal.fields)
        } else {
            let details = ProblemDetails(refusal.status, refusal.code, caller.redacted(refusal.message))
            self.init(
                refusal.status, refusal.fields + [("Cache-Control", "no-store")], details.bytes,
                type: ProblemDetails.contentType)
        }
        rejectsContent = true
    }

    /// - Parameter isLast: whether the connection is closed behind it.
    func bytes(for method: HTTPMethod, isLast: Bool) -> [UInt8] {
        guard body.isEmpty, type == nil else {
            return HTTPAnswers.whole(
                status, fields, body, type: type ?? "text/plain; charset=utf-8", for: method, isLast: isLast)
        }
        return HTTPAnswers.head(status, fields, length: [204, 304].contains(status) ? nil : 0, isLast: isLast)
    }
}

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
    /// - Returns: the same, which no browser keeps: it may be on a machine that others use later.
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

/// Why a request is not met.
struct HTTPRefusal: Error {
    let status: Int
    let code: ResultCode
    let message: String
    var fields: [(String, String)] = []

    /// What is shown in place of the problem to people who ask with a browser.
    var page: [UInt8]?

    /// Whether the log has it already.
    var isLogged = false

    init(_ status: Int, _ code: ResultCode, _ message: String, _ fields: [(String, String)] = []) {
        (self.status, self.code, self.message, self.fields) = (status, code, message, fields)
    }

    init(_ error: Failure) {
        self.init(error.code.httpStatus, error.code, error.message)
        if status == 503 { fields = [("Retry-After", "5")] }
    }

    init(_ fault: HTTPFault) {
        self.init(fault.status, .malformedFrame, fault.message)
    }

    /// - Parameter fault: of conditions that cannot be read, or do not hold.
    init(conditions fault: HTTPFault) {
        self.init(fault.status, fault.status == 412 ? .pathConflict : .malformedFrame, fault.message)
    }

    /// A browser was led here under the name of another host (RFC 9110, section 15.5.20).
    static let misdirected = HTTPRefusal(
        421, .forbidden,
        "This server doesn't know itself under that name. Ask for its address, or have it told its name with --advertise."
    )

    /// A client that may not come in is told what it could show (RFC 9110, section 11.6.1).
    init(_ refusal: Refusal) {
        self.init(refusal.code.httpStatus, refusal.code, refusal.message)
        if status == 401 {
            fields = [
                ("WWW-Authenticate", "Basic realm=\"transfer\", charset=\"UTF-8\""),
                ("WWW-Authenticate", "Bearer realm=\"transfer\""),
            ]
        }
        if let after = refusal.retryAfter {
            fields.append(("Retry-After", "\(max(1, after.nanoseconds / 1_000_000_000))"))
        }
    }
}
