import TransferAccess
import TransferHTTP
import TransferIntake
import TransferModel

/// Sessions of browsers: their begin, their end, and which requests may not use them.
struct SignInHandler: HTTPHandler {
    let context: HTTPContext

    /// Answers a browser that has opened a sign-in link. `HTTPSession` has checked the link already.
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
        case .foreign: throw HTTPRefusal(403, .forbidden, "A page of another site must not sign in here.")
        case .unknownMethod:
            throw HTTPRefusal(
                405, .wrongForm, "A sign-in link allows only GET, HEAD and POST.", [("Allow", "GET, HEAD, POST")])
        }
        answer.rejectsContent = true
        return answer
    }

    /// Answers `/.transfer/out`: ends the browser's session.
    func signOut(_ request: HTTPRequest, _ target: HTTPTarget) throws(HTTPRefusal) -> HTTPResponse {
        guard let session = request.session, let gate = context.resources.gate else {
            throw HTTPRefusal(404, .notFound, "The request has no session to sign out of.")
        }
        let uploads = context.uploads
        do throws(AccessFault) {
            // No error if another request has ended the session already.
            _ = try gate.endSession(session)
        } catch {
            uploads.events.append(.accessListFailed(error.message))
            throw HTTPRefusal(500, .storageFailed, "The session could not be ended; the server's log says why.")
        }
        uploads.events.append(.sessionEnded(context.caller.grant.name, session, peer: uploads.peer))
        // Browsers keep thumbnails for a year, and files until they are full.
        let cleared = SessionCookie.clearing(request.way) + [("Clear-Site-Data", "\"cache\"")]
        var answer = HTTPReply.page(200, PageWords(request.head).left, cleared)
        answer.rejectsContent = true
        return .reply(answer)
    }

    /// Refuses requests that a page of another site has caused: browsers add the session to those as well.
    static func checkSession(_ request: HTTPRequest) throws(HTTPRefusal) {
        guard request.session != nil else { return }
        let head = request.head
        if [.get, .head, .options].contains(head.method) {
            guard HTTPWay.isPartOfForeignPage(head.fields) else { return }
        } else {
            guard !request.way.isFromOwnPage(head) else { return }
        }
        throw HTTPRefusal(403, .forbidden, "A page of another site must not use this session.")
    }

    /// Adds what helps a browser without access: a page, if a person looks at the answer, and the removal of a cookie whose session is over.
    static func guided(_ refusal: HTTPRefusal, _ request: HTTPRequest) -> HTTPRefusal {
        guard refusal.status == 401 else { return refusal }
        var refusal = refusal
        if ShownCredentials(request.head, request.way).session != nil {
            refusal.fields += SessionCookie.clearing(request.way)
        }
        if request.head.wantsPage { refusal.page = PageWords(request.head).wayIn }
        return refusal
    }
}

extension HTTPRequest {
    /// ID of the browser's session; nil without one.
    var session: String? {
        if case .success(let principal) = principal { principal.session } else { nil }
    }
}

extension HTTPReply {
    /// The answer with one of this server's own pages.
    static func page(_ status: Int, _ page: [UInt8], _ fields: [(String, String)] = []) -> HTTPReply {
        HTTPReply(
            status,
            fields + [("Cache-Control", "no-store"), ("Content-Security-Policy", HTTPAnswers.noActiveContent)], page,
            type: SmallPage.type)
    }
}

/// A sign-in link for a browser: `/.transfer/in/SECRET`, where its session begins.
struct SignInLink: Equatable, Sendable {
    private static let folder = "/\(RelativePath.reservedName)/in/"

    /// The secret as it was received, not checked yet.
    let secret: String

    /// - Returns: nil for any other path.
    init?(_ head: RequestHead) {
        guard Self.mayBeReserved(head), let target = try? HTTPTarget(head), !target.isFolder else { return nil }
        let names = target.path.split(separator: "/", omittingEmptySubsequences: false)
        guard names.count == 3, "/\(names[0])/\(names[1])/".hasSameBytes(as: Self.folder) else { return nil }
        secret = String(names[2])
    }

    /// A quick check that rules out most requests: the reserved name begins with a dot, which the client may have encoded.
    private static func mayBeReserved(_ head: RequestHead) -> Bool {
        let first = head.resource.utf8.dropFirst().first
        return first == UInt8(ascii: ".") || first == UInt8(ascii: "%")
    }

    /// The requested resource as it is logged: a secret in it is left out.
    static func hiding(_ head: RequestHead) -> String {
        let target = head.resource.utf8
        guard target.starts(with: folder.utf8) else {
            return String(decoding: head.target.utf8.prefix(Limits.pathComponent), as: UTF8.self)
        }
        return folder + "..."
    }
}

/// The outcome of a sign-in link that a browser has opened.
enum SignInOutcome: Sendable {
    /// The link is valid: its page is shown, and the link is not used up.
    case offered(AccessToken)
    /// The link is used up, and a session begins.
    case begun(AccessSecret, AccessToken)
    case refused(Refusal)
    /// A page of another site caused the request.
    case foreign
    /// The method is neither one for viewing nor one for using a link.
    case unknownMethod
}

/// The cookie that has a browser's session.
enum SessionCookie {
    /// Names of the cookie. With the prefix of the first, browsers accept it over TLS only, and send it to this host only (RFC 6265bis,
    /// section 4.1.3).
    private static let names = (secure: "__Host-transfer", other: "transfer")

    private static func name(_ way: HTTPWay) -> String { way.isSecure == true ? names.secure : names.other }

    /// - Returns: nil if the request has no such cookie.
    static func value(_ head: RequestHead, _ way: HTTPWay) -> String? {
        CookieField.value(name(way), in: head.fields.values("cookie"))
    }

    /// The fields that set the cookie.
    static func setting(
        _ secret: AccessSecret, until end: UTCTime, at now: UTCTime, _ way: HTTPWay
    ) -> [(String, String)] {
        // Cannot overflow: times are between 1970 and the year 9999.
        fields(secret.text, seconds: end.seconds - now.seconds, way)
    }

    /// The fields that remove the cookie.
    static func clearing(_ way: HTTPWay) -> [(String, String)] { fields("", seconds: 0, way) }

    private static func fields(_ value: String, seconds: Int64, _ way: HTTPWay) -> [(String, String)] {
        let cookie = CookieField.setting(name(way), to: value, seconds: seconds, isSecure: way.isSecure == true)
        return cookie.map { [("Set-Cookie", $0)] } ?? []
    }
}

/// The credentials that a request shows.
struct ShownCredentials: Equatable, Sendable {
    /// Values of all `Authorization` fields.
    let authorization: [[UInt8]]

    /// The secret of a browser's session; only read if there is no `Authorization` field.
    let session: String?

    init(_ head: RequestHead, _ way: HTTPWay) {
        authorization = head.fields.values("authorization")
        session = authorization.isEmpty ? SessionCookie.value(head, way) : nil
    }
}

extension LogEvent {
    /// A browser has used a sign-in link.
    static func sessionBegan(_ client: String, _ id: String, peer: String) -> LogEvent {
        LogEvent(
            .info, "sessionBegan", "a browser at \(peer) has signed in as \(client.escapedForDisplay)",
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
