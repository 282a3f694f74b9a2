import TransferAccess
import TransferHTTP
import TransferIntake
import TransferModel

/// Sessions of browsers: where they begin and end, and what they may not do.
struct SignInHandler: HTTPHandler {
    let context: HTTPContext

    /// Answers a browser that has shown a link. The session has looked at the link before anything else (`HTTPSession`).
    func conclude(_ outcome: SignInOutcome, of request: HTTPRequest) throws(HTTPRefusal) -> HTTPReply {
        let words = PageWords(request.head)
        var answer: HTTPReply
        switch outcome {
        case .offered(let link): answer = .page(200, words.offer(link))
        case .begun(let secret, let session):
            let cookie = session.options.expires.map {
                SessionCookie.setting(secret, until: $0, at: .now, request.way)
            }
            answer = HTTPReply(303, [("Location", "/"), ("Cache-Control", "no-store")] + (cookie ?? []))
        case .refused(let refusal):
            let fields = HTTPRefusal(refusal).fields.filter { $0.0.hasSameBytes(as: "Retry-After") }
            let status = refusal.code == .authenticationFailed ? 404 : refusal.code.httpStatus
            answer = .page(status, status == 404 ? words.used : words.later, fields)
        case .foreign: throw HTTPRefusal(403, .forbidden, "A page of another site may not sign in here.")
        case .unknownMethod:
            throw HTTPRefusal(405, .wrongForm, "A link is looked at or used.", [("Allow", "GET, HEAD, POST")])
        }
        answer.rejectsContent = true
        return answer
    }

    /// `/.transfer/out`: ends the session that the request shows.
    func signOut(_ request: HTTPRequest, _ target: HTTPTarget) throws(HTTPRefusal) -> HTTPResponse {
        guard let session = request.session, let gate = context.resources.gate else {
            throw HTTPRefusal(404, .notFound, "The request shows no session that could end.")
        }
        let uploads = context.uploads
        do throws(AccessFault) {
            // Another request may have ended it as well.
            _ = try gate.endSession(session)
        } catch {
            uploads.events.append(.accessFault(error.message))
            throw HTTPRefusal(500, .storageFailed, "The session could not be ended; the server's log says why.")
        }
        uploads.events.append(.sessionEnded(context.caller.grant.name, session, peer: uploads.peer))
        var answer = HTTPReply.page(200, PageWords(request.head).left, SessionCookie.clearing(request.way))
        answer.rejectsContent = true
        return .reply(answer)
    }

    /// Browsers show a session with whatever they ask for, also when a page of another site has them ask.
    static func checkSession(_ request: HTTPRequest) throws(HTTPRefusal) {
        guard request.session != nil else { return }
        let head = request.head
        if [.get, .head, .options].contains(head.method) {
            guard HTTPWay.isPartOfForeignPage(head.fields) else { return }
        } else {
            guard !request.way.isFromOwnPage(head) else { return }
        }
        throw HTTPRefusal(403, .forbidden, "A page of another site may not use this session.")
    }

    /// Adds what helps a browser that is not let in: a page for a folder that people ask for, and the end of a session that counts
    /// no more.
    static func guided(_ refusal: HTTPRefusal, _ request: HTTPRequest) -> HTTPRefusal {
        guard refusal.status == 401 else { return refusal }
        var refusal = refusal
        if ShownCredentials(request.head, request.way).session != nil {
            refusal.fields += SessionCookie.clearing(request.way)
        }
        if wantsPage(request.head) { refusal.page = PageWords(request.head).wayIn }
        return refusal
    }

    private static func wantsPage(_ head: RequestHead) -> Bool {
        guard head.method == .get || head.method == .head, let target = try? HTTPTarget(head),
            target.isFolder || target.path.isEmpty
        else { return false }
        // Programs that take anything get what they always get.
        let offers = [ProblemDetails.contentType, "text/html"]
        return Negotiation.mediaType(head.fields.values("accept"), of: offers)?.hasSameBytes(as: offers[1]) ?? false
    }
}

extension HTTPRequest {
    /// The session that a browser asks in, by its id.
    var session: String? {
        if case .success(let principal) = principal { principal.session } else { nil }
    }
}

extension HTTPReply {
    /// A page of this server's own.
    static func page(_ status: Int, _ page: [UInt8], _ fields: [(String, String)] = []) -> HTTPReply {
        HTTPReply(
            status,
            fields + [("Cache-Control", "no-store"), ("Content-Security-Policy", HTTPAnswers.noActiveContent)], page,
            type: SmallPage.type)
    }
}

/// What a browser was given to come in with: `/.transfer/in/SECRET`, where its session begins.
struct SignInLink: Equatable, Sendable {
    private static let folder = "/\(RelativePath.reservedName)/in/"

    /// As it came.
    let secret: String

    /// - Returns: nil for any other path.
    init?(_ head: RequestHead) {
        guard Self.mayBeReserved(head), let target = try? HTTPTarget(head), !target.isFolder else { return nil }
        let names = target.path.split(separator: "/", omittingEmptySubsequences: false)
        guard names.count == 3, "/\(names[0])/\(names[1])/".hasSameBytes(as: Self.folder) else { return nil }
        secret = String(names[2])
    }

    /// Each request is asked, and few are: the name begins with a dot, which the client may have encoded.
    private static func mayBeReserved(_ head: RequestHead) -> Bool {
        let first = head.resource.utf8.dropFirst().first
        return first == UInt8(ascii: ".") || first == UInt8(ascii: "%")
    }

    /// What a request is about, for the log: without what could be a secret.
    static func hiding(_ head: RequestHead) -> String {
        let target = head.resource.utf8
        guard target.starts(with: folder.utf8) else {
            return String(decoding: head.target.utf8.prefix(Limits.pathComponent), as: UTF8.self)
        }
        return folder + "..."
    }
}

/// What came of a link that a browser has shown.
enum SignInOutcome: Sendable {
    /// It is good: its page is shown, and nothing has happened.
    case offered(AccessToken)
    /// It is used up.
    case begun(AccessSecret, AccessToken)
    case refused(Refusal)
    /// A page of another site had the browser ask.
    case foreign
    /// Links are looked at and used, and nothing else.
    case unknownMethod
}

/// What a browser shows of its session.
enum SessionCookie {
    /// With the prefix, browsers take it from a host over TLS only, and give it to that one alone (RFC 6265bis, section 4.1.3).
    private static let names = (secure: "__Host-transfer", other: "transfer")

    private static func name(_ way: HTTPWay) -> String { way.isSecure == true ? names.secure : names.other }

    /// - Returns: nil where a request has none.
    static func value(_ head: RequestHead, _ way: HTTPWay) -> String? {
        CookieField.value(name(way), in: head.fields.values("cookie"))
    }

    /// The fields that give a browser its session.
    static func setting(
        _ secret: AccessSecret, until end: UTCTime, at now: UTCTime, _ way: HTTPWay
    ) -> [(String, String)] {
        // No time is beyond the year 9999, or before 1970.
        fields(secret.text, seconds: end.seconds - now.seconds, way)
    }

    /// The fields that take it back.
    static func clearing(_ way: HTTPWay) -> [(String, String)] { fields("", seconds: 0, way) }

    private static func fields(_ value: String, seconds: Int64, _ way: HTTPWay) -> [(String, String)] {
        let cookie = CookieField.setting(name(way), to: value, seconds: seconds, isSecure: way.isSecure == true)
        return cookie.map { [("Set-Cookie", $0)] } ?? []
    }
}

/// What a request shows of its client.
struct ShownCredentials: Equatable, Sendable {
    /// Values of the field's lines.
    let authorization: [[UInt8]]

    /// Of a browser's session; counts where there is nothing else.
    let session: String?

    init(_ head: RequestHead, _ way: HTTPWay) {
        authorization = head.fields.values("authorization")
        session = authorization.isEmpty ? SessionCookie.value(head, way) : nil
    }
}

extension LogEvent {
    /// A browser has used a link.
    static func sessionBegan(_ client: String, _ id: String, peer: String) -> LogEvent {
        LogEvent(
            .info, "sessionBegan", "a browser at \(peer) is \(client.escapedForDisplay) from now on",
            fields(client, id, peer))
    }

    /// A browser has signed out.
    static func sessionEnded(_ client: String, _ id: String, peer: String) -> LogEvent {
        LogEvent(
            .info, "sessionEnded", "the browser of \(client.escapedForDisplay) at \(peer) has signed out",
            fields(client, id, peer))
    }

    private static func fields(_ client: String, _ id: String, _ peer: String) -> [(String, LogValue)] {
        [("peer", .string(peer)), ("client", .string(client)), ("id", .string(id))]
    }
}
