import TransferAccess
import TransferHTTP
import TransferIO
import TransferIntake
import TransferModel
import TransferPorts
import TransferSystem

/// An answer that is made piece by piece, because it is long: `HTTPSteps` asks for the head once, and has the answer fill an outcome in
/// each turn until it is complete. Used by one thread at a time.
protocol HTTPAnswer: AnyObject {
    /// Names the subject in the log.
    var path: String { get }

    /// The file to record as rotten if its content proves not to be what was acknowledged; nil if the answer has no such file.
    var suspect: RottenFile? { get }

    /// Whether only the end of the connection marks the end of the answer.
    var endsConnection: Bool { get }

    /// Whether the head can be sent before the rest is known.
    var headComesFirst: Bool { get }

    /// Whether the answer itself rechecks the client's access.
    var watchesAccess: Bool { get }

    /// - Parameter isLast: whether the connection is closed after the answer.
    func head(isLast: Bool) -> [UInt8]

    /// Adds as many bytes as there is room for.
    ///
    /// - Returns: whether the answer is complete.
    /// - Throws: why it cannot be completed.
    func fill(_ outcome: inout HTTPOutcome, from pool: BufferPool) throws(Failure) -> Bool

    /// Whether the answer continues until one side ends it, so that no answer follows it.
    var isEndless: Bool { get }

    /// The answer that the client gets when this one is complete; nil if the client gets this one.
    var successor: (any HTTPAnswer)? { get }

    /// Takes the result of an upload that the answer is about, if it is settled between two turns.
    func settled(_ settled: EndedUpload)

    /// Events to log when the answer is complete.
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

/// A short answer, whose body is in memory.
struct HTTPReply {
    var status: Int
    var fields: [(String, String)]
    var body: [UInt8]
    /// Media type of the body; nil without a body.
    var type: String?

    /// Whether the content of the request is not wanted: if much of it may still arrive, the connection ends after the answer.
    var rejectsContent = false

    init(_ status: Int, _ fields: [(String, String)] = [], _ body: [UInt8] = [], type: String? = nil) {
        (self.status, self.fields, self.body, self.type) = (status, fields, body, type)
    }

    /// Says why a request is refused (RFC 9457).
    ///
    /// - Parameter caller: the client; paths above its own folder are removed from the sentence.
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

    /// - Parameter isLast: whether the connection is closed after the answer.
    func bytes(for method: HTTPMethod, isLast: Bool) -> [UInt8] {
        guard body.isEmpty, type == nil else {
            return HTTPAnswers.whole(
                status, fields, body, type: type ?? "text/plain; charset=utf-8", for: method, isLast: isLast)
        }
        return HTTPAnswers.head(status, fields, length: [204, 304].contains(status) ? nil : 0, isLast: isLast)
    }
}

/// Makes heads and short bodies of answers.
enum HTTPAnswers {
    /// Fields of every answer. Without any referrer, browsers would send `Origin: null` with forms of this server's own pages (Fetch,
    /// section 3.2.5). Other clients have sent the stored files, so those must not become pages of this server.
    private static let guarding: [(String, String)] = [
        ("X-Content-Type-Options", "nosniff"), ("Referrer-Policy", "same-origin"),
        ("Cross-Origin-Resource-Policy", "same-origin"),
    ]

    /// The pages that may show an answer in a frame: none, unless the answer says otherwise.
    private static let framing = "X-Frame-Options"

    /// For stored files, which the page shows in a frame. They are in a sandbox.
    static let framedByPage = (framing, "SAMEORIGIN")

    /// Policies that forbid to fetch, run or send anything: for pages of this server, and for stored files.
    static let noActiveContent =
        "default-src 'none'; style-src 'unsafe-inline'; form-action 'self'; frame-ancestors 'none'"
    static let sandbox = "sandbox; default-src 'none'; img-src 'self'; media-src 'self'; style-src 'unsafe-inline'"

    /// Bytes that suffice for most heads.
    private static let usualRoom = 768

    /// - Parameters:
    ///   - isLast: whether the connection is closed after the answer.
    ///   - length: bytes of the body; nil if there is no body, or if the body itself marks its end.
    ///   - body: appended to the head.
    static func head(
        _ status: Int, _ fields: [(String, String)], length: UInt64? = nil, isLast: Bool = false,
        before body: [UInt8] = []
    ) -> [UInt8] {
        var head = AnswerHead(status, room: usualRoom + body.count)
        head.append("Date", HTTPDate.now.text)
        for (name, value) in fields { head.append(name, value) }
        for (name, value) in guarding { head.append(name, value) }
        if !fields.contains(where: { $0.0.hasSameBytes(as: framing) }) { head.append(framing, "DENY") }
        if let length { head.append(length: length) }
        if isLast { head.append("Connection", "close") }
        // Values that a field cannot have, such as names with line ends, are never passed here: see `ContentDisposition`.
        return head.bytes(before: body) ?? Self.unsayable
    }

    /// - Parameter answer: begins with its head, which has no `Connection` field.
    /// - Returns: the answer, with a field that says that the connection stays open.
    static func keepingOpen(_ answer: [UInt8]) -> [UInt8] { adding("Connection: keep-alive", to: answer) }

    /// - Parameter answer: begins with its head.
    /// - Returns: the answer, with a field that forbids browsers to keep it: other people may use the machine later.
    static func forgotten(_ answer: [UInt8]) -> [UInt8] { adding("Cache-Control: no-store", to: answer) }

    /// Adds a field before the others.
    private static func adding(_ field: String, to answer: [UInt8]) -> [UInt8] {
        guard let end = answer.firstIndex(of: UInt8(ascii: "\n")) else { return answer }
        return answer[...end] + Array("\(field)\r\n".utf8) + answer[(end + 1)...]
    }

    private static let unsayable = Array(
        "HTTP/1.1 500 Internal Server Error\r\nContent-Length: 0\r\nConnection: close\r\n\r\n".utf8)

    /// An answer with its complete body.
    static func whole(
        _ status: Int, _ fields: [(String, String)], _ body: [UInt8], type: String, for method: HTTPMethod, isLast: Bool
    ) -> [UInt8] {
        head(
            status, fields + [("Content-Type", type)], length: UInt64(body.count), isLast: isLast,
            before: method == .head ? [] : body)
    }

    /// The reason why a request is refused (RFC 9457).
    static func problem(
        _ status: Int, _ code: ResultCode, _ detail: String, _ fields: [(String, String)] = [], for method: HTTPMethod,
        isLast: Bool
    ) -> [UInt8] {
        whole(
            status, fields + [("Cache-Control", "no-store")], ProblemDetails(status, code, detail).bytes,
            type: ProblemDetails.contentType, for: method, isLast: isLast)
    }

    /// The last answer on a connection.
    static func last(_ fault: HTTPFault, code: ResultCode) -> [UInt8] {
        problem(fault.status, code, fault.message, for: .get, isLast: true)
    }
}

extension ProblemDetails {
    /// Adds this server's result code to the details.
    init(_ status: Int, _ code: ResultCode, _ detail: String) {
        self.init(HTTPFault(status, detail))
        extensions = [("result", .string(code.name))]
    }
}

extension HTTPDate {
    static var now: HTTPDate { HTTPDate(clamping: utcNanoseconds() / 1_000_000_000) }
}

extension ResultCode {
    /// The HTTP status of a failure; for a success, its answer chooses the status.
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

/// The reason why a request is refused, with the fields of the answer.
struct HTTPRefusal: Error {
    let status: Int
    let code: ResultCode
    let message: String
    var fields: [(String, String)] = []

    /// A page for people with a browser, in place of the problem details; nil for none.
    var page: [UInt8]?

    /// Whether the refusal is logged already.
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

    /// - Parameter fault: the fault of conditions that cannot be parsed, or do not hold.
    init(conditions fault: HTTPFault) {
        self.init(fault.status, fault.status == 412 ? .pathConflict : .malformedFrame, fault.message)
    }

    /// A browser asked for a host name that is not this server's (RFC 9110, section 15.5.20).
    static let misdirected = HTTPRefusal(
        421, .forbidden,
        "This server doesn't accept that host name. Use its address, or have its operator add the name "
            + "with --advertise."
    )

    /// A client did not encrypt where the server demands it. Browsers are sent to the same address with `https`.
    static func unencrypted(_ request: HTTPRequest) -> HTTPRefusal {
        var refusal = HTTPRefusal(
            400, .encryptionRequired, "This server accepts encrypted connections only: use https instead of http.")
        let hosts = request.head.fields.values("host")
        if [.get, .head].contains(request.head.method), hosts.count == 1,
            let host = String(validating: hosts[0], as: UTF8.self), !host.isEmpty
        {
            refusal = HTTPRefusal(
                307, refusal.code, refusal.message, [("Location", "https://\(host)\(request.head.resource)")])
        }
        return refusal
    }

    /// Tells a client that may not connect which credentials it can show (RFC 9110, section 11.6.1).
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

/// How a body is sent whose length is not known: in chunks, or, to a client of HTTP/1.0, until the connection ends.
struct StreamedBody {
    /// Nanoseconds of work without a word after which a blank line is sent, so that the client and proxies see that the work goes on.
    private static let silence: Int64 = 10_000_000_000

    private let isChunked: Bool
    private var lastWord = monotonicNanoseconds()

    init(for request: HTTPRequest) { isChunked = request.head.version != .http10 }

    /// Whether only the end of the connection marks the end of the body.
    var endsConnection: Bool { !isChunked }

    /// The head of an answer with this body.
    ///
    /// - Parameter isLast: whether the connection is closed after the answer.
    func head(_ fields: [(String, String)], isLast: Bool) -> [UInt8] {
        let chunked = isChunked ? [("Transfer-Encoding", "chunked")] : []
        return HTTPAnswers.head(200, fields + chunked, isLast: isLast)
    }

    /// Adds some bytes of the body.
    mutating func write(_ bytes: [UInt8], to outcome: inout HTTPOutcome) {
        lastWord = monotonicNanoseconds()
        guard isChunked, !bytes.isEmpty else { return outcome.append(bytes) }
        if let head = ChunkWriter.head(UInt64(bytes.count)) { outcome.append(head + bytes + ChunkWriter.end) }
    }

    /// To be called between two steps of work that have nothing to send. The body must allow blank lines, as lines of JSON do.
    mutating func keepAlive(_ outcome: inout HTTPOutcome) {
        if monotonicNanoseconds() - lastWord > Self.silence { write([UInt8(ascii: "\n")], to: &outcome) }
    }

    func end(_ outcome: inout HTTPOutcome) {
        if isChunked, let last = ChunkWriter.last() { outcome.append(last) }
    }
}
