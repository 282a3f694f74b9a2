import TransferAccess
import TransferHTTP
import TransferIntake
import TransferModel

/// Sessions of browsers: where they begin and end, and what they may not do.
extension HTTPWorker {
    private static let signOutPath = "\(RelativePath.reservedName)/out"

    /// Answers a browser that has shown a link.
    func conclude(_ outcome: SignInOutcome, of request: HTTPRequest) {
        let words = PageWords(request.head)
        let answer: HTTPReply
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
        case .foreign:
            return refuse(request, HTTPRefusal(403, .forbidden, "A page of another site may not sign in here."))
        case .unknownMethod:
            return refuse(
                request,
                HTTPRefusal(405, .wrongForm, "A link is looked at or used.", [("Allow", "GET, HEAD, POST")]))
        }
        say(request, isLast: endsWithRefusal(request)) { isLast in
            answer.bytes(for: request.head.method, isLast: isLast)
        }
    }

    /// Whether a request is to end the session that it shows.
    func isSignOut(_ target: HTTPTarget) -> Bool { !target.isFolder && target.path.hasSameBytes(as: Self.signOutPath) }

    func signOut(_ request: HTTPRequest) throws(HTTPRefusal) {
        guard request.head.method == .post else {
            throw HTTPRefusal(405, .wrongForm, "This ends a session when it is posted to.", [("Allow", "POST")])
        }
        guard let session = request.session, let gate = resources.gate else {
            throw HTTPRefusal(404, .notFound, "The request shows no session that could end.")
        }
        do throws(AccessFault) {
            // Whoever was faster has ended it as well.
            _ = try gate.endSession(session)
        } catch {
            uploads.events.append(.accessFault(error.message))
            throw HTTPRefusal(500, .storageFailed, "The session could not be ended; the server's log says why.")
        }
        uploads.events.append(.sessionEnded(client.grant.name, session, peer: peer))
        let answer = HTTPReply.page(200, PageWords(request.head).left, SessionCookie.clearing(request.way))
        say(request, isLast: endsWithRefusal(request)) { isLast in answer.bytes(for: .post, isLast: isLast) }
    }

    /// Browsers show a session with whatever they ask for, also when a page of another site has them ask.
    func checkSession(_ request: HTTPRequest) throws(HTTPRefusal) {
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
    func guided(_ refusal: HTTPRefusal, _ request: HTTPRequest) -> HTTPRefusal {
        guard refusal.status == 401 else { return refusal }
        var refusal = refusal
        if ShownCredentials(request.head, request.way).session != nil {
            refusal.fields += SessionCookie.clearing(request.way)
        }
        if wantsPage(request.head) { refusal.page = PageWords(request.head).wayIn }
        return refusal
    }

    private func wantsPage(_ head: RequestHead) -> Bool {
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
        if case .success(let client) = client { client.session } else { nil }
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
