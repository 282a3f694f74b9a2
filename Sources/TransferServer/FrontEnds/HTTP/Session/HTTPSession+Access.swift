import TransferAccess
import TransferConnection
import TransferHTTP
import TransferIO
import TransferIntake
import TransferKeys
import TransferModel
import TransferProtocol
import TransferSystem

/// A request whose client is not known yet.
struct UndecidedRequest {
    let head: RequestHead
    let body: BodyFraming
    let way: HTTPWay

    /// The credentials that the request shows.
    var shown: ShownCredentials { ShownCredentials(head, way) }
}

/// The client of the last request on a connection, and its credentials. A proxy can send requests of several clients over one connection.
struct KnownClient: Sendable {
    let shown: ShownCredentials
    let origin: PeerOrigin
    let principal: HTTPRequest.Principal
}

/// Finding out which client sends a request. Until that is known, nothing after the head is parsed.
extension HTTPSession {
    /// Makes the request if its client has shown the same credentials in the last one; nil if it has not.
    func repeated(_ undecided: UndecidedRequest) -> HTTPRequest? {
        guard let known, known.shown == undecided.shown, known.origin == undecided.way.origin,
            SignInLink(undecided.head) == nil
        else { return nil }
        return HTTPRequest(
            head: undecided.head, body: undecided.body, way: undecided.way, principal: .success(known.principal))
    }

    /// Runs in a separate task, whose memory is freed afterwards: the task that reads lasts as long as the connection, and keeps as much
    /// memory as its deepest call has taken.
    func decide(on connection: isolated Connection) async {
        await connection.start { await $0.session.findClient(on: $0) }.value
    }

    private func findClient(on connection: isolated Connection) async {
        guard let undecided = wire.undecided else { return }
        if let request = await signedIn(undecided, on: connection) { return wire.decided(request) }
        // A client of such a request need not show credentials, and has not tried to sign in.
        let isForAnybody = worker.steps.service.isForAnybody(undecided.head)
        let found = isForAnybody ? .failure(.nothingShown) : await client(of: undecided, on: connection)
        if case .success(let found) = found {
            known = KnownClient(shown: undecided.shown, origin: undecided.way.origin, principal: found)
            pay(as: found.holder)
            let caller = found.caller
            client.progress.asks(undecided.way.origin.name)
            client.progress.established(client: caller.name)
            establish(on: connection)
        }
        // On a listener for probes, no client shows credentials, so the handshake is over.
        if worker.steps.service.purpose == .probes {
            client.progress.established(client: nil)
            establish(on: connection)
        }
        wire.decided(HTTPRequest(head: undecided.head, body: undecided.body, way: undecided.way, principal: found))
    }

    /// Ends the handshake, so that its deadline no longer applies. A client that is refused gets its answer, and can show other credentials
    /// until that deadline: it holds a place that other clients may need.
    private func establish(on connection: isolated Connection) {
        guard handshake == .open else { return }
        handshake = .over
        client.establish()
        connection.driver.liveness.established(now: .now)
        connection.armTimer()
    }

    private func client(
        of request: UndecidedRequest, on connection: isolated Connection
    ) async -> Result<HTTPRequest.Principal, Refusal> {
        let (origin, peer, secret) = (request.way.origin, request.way.origin.name, client.transport.uploadSecret)
        guard let gate = client.transport.gate else {
            return .success(HTTPRequest.Principal(caller: Caller(peer: peer), holder: AccountHolder(origin)))
        }
        let began = MonotonicTime.now
        let shown = request.shown
        var credentials = Credentials(
            network: origin.network, isLocal: origin.isLocal, key: connection.driver.socket?.clientKey,
            token: HTTPCredentials.token(shown.authorization))
        credentials.session = shown.session
        let decision = await client.transport.accessPool.run { [credentials] in
            Result { () throws(Refusal) in
                let admission = try gate.authenticate(credentials)
                let scope = try UploadScope(admission.grant.source, secret: secret)
                let principal = HTTPRequest.Principal(
                    caller: Caller(admission.grant, scope, peer: peer), holder: AccountHolder(admission.grant, origin),
                    session: shown.session == nil ? nil : admission.grant.tokenID)
                return (principal, admission)
            }
        }
        switch decision {
        case .success(let (found, admission)):
            client.log(.admitted(peer: peer, admission))
            return .success(found)
        case .failure(let refusal):
            client.log(.denied(peer: peer, refusal))
            // The refusal is delayed, so that a client cannot try many credentials. A request without credentials is refused at once:
            // browsers begin with such requests.
            let hasTried = credentials.token != nil || credentials.key != nil || credentials.session != nil
            let end = began + refusal.delay
            if hasTried, connection.ending == nil { await connection.loop.wait(until: end.nanoseconds) }
            return .failure(refusal)
        }
    }
}

extension Grant {
    /// ID of the token or session of the grant; nil for other grants.
    fileprivate var tokenID: String? { if case .token(let id) = source { id } else { nil } }
}

/// Sign-in links for browsers. They are handled before the client is determined, because they sign it in.
extension HTTPSession {
    /// Answers a request for a sign-in link.
    ///
    /// - Returns: nil for any other request.
    private func signedIn(_ request: UndecidedRequest, on connection: isolated Connection) async -> HTTPRequest? {
        guard !request.way.isMisdirected, purpose != .redirection, let link = SignInLink(request.head) else {
            return nil
        }
        let outcome = await outcome(of: link, request, on: connection)
        return HTTPRequest(
            head: request.head, body: request.body, way: request.way, principal: .failure(.wrongLink), signIn: outcome)
    }

    private func outcome(
        of link: SignInLink, _ request: UndecidedRequest, on connection: isolated Connection
    ) async -> SignInOutcome {
        let (head, way) = (request.head, request.way)
        let isUse = head.method == .post
        guard isUse || head.method == .get || head.method == .head else { return .unknownMethod }
        // Without this check, a page of another site could sign its reader in here with another client's link, under that client's name.
        guard !isUse || way.isFromOwnPage(head) else { return .foreign }
        guard let gate = client.transport.gate else { return .refused(.wrongLink) }
        let began = MonotonicTime.now
        let credentials = Credentials(network: way.origin.network, isLocal: way.origin.isLocal)
        let result = await client.transport.accessPool.run {
            Result { () throws(Refusal) -> SignInOutcome in
                guard isUse else { return .offered(try gate.link(link.secret, credentials)) }
                let (secret, session) = try gate.beginSession(link.secret, credentials)
                return .begun(secret, session)
            }
        }
        switch result {
        case .success(let outcome):
            if case .begun(_, let session) = outcome {
                client.log(.sessionBegan(session.name, session.id, peer: way.origin.name))
            }
            return outcome
        case .failure(let refusal):
            client.log(.denied(peer: way.origin.name, refusal))
            if connection.ending == nil {
                await connection.loop.wait(until: (began + refusal.delay).nanoseconds)
            }
            return .refused(refusal)
        }
    }
}
