import TransferAccess
import TransferHTTP
import TransferIO
import TransferModel
import TransferProtocol
import TransferSystem

/// Links for browsers, which are looked at before anybody is asked who he is: with them he becomes somebody.
extension HTTPSession {
    /// Answers a request for a link.
    ///
    /// - Returns: nothing for any other request.
    func signedIn(_ request: UndecidedRequest) async -> HTTPRequest? {
        guard !request.way.isMisdirected, let link = SignInLink(request.head) else { return nil }
        let outcome = await outcome(of: link, request)
        return HTTPRequest(
            head: request.head, body: request.body, way: request.way, client: .failure(.wrongLink), signIn: outcome)
    }

    private func outcome(of link: SignInLink, _ request: UndecidedRequest) async -> SignInOutcome {
        let (head, way) = (request.head, request.way)
        let isUse = head.method == .post
        guard isUse || head.method == .get || head.method == .head else { return .unknownMethod }
        // Otherwise a page of another site could have its reader work here under its own name.
        guard !isUse || way.isFromOwnPage(head) else { return .foreign }
        guard let gate = transport.gate else { return .refused(.wrongLink) }
        let began = MonotonicTime.now
        let credentials = Credentials(network: way.origin.network, isLocal: way.origin.isLocal)
        let result = await transport.accessPool.run {
            Result { () throws(Refusal) -> SignInOutcome in
                guard isUse else { return .offered(try gate.link(link.secret, credentials)) }
                let (secret, session) = try gate.beginSession(link.secret, credentials)
                return .begun(secret, session)
            }
        }
        switch result {
        case .success(let outcome):
            if case .begun(_, let session) = outcome {
                observability.log.write([.sessionBegan(session.name, session.id, peer: way.origin.name)])
            }
            return outcome
        case .failure(let refusal):
            observability.log.write([.notAdmitted(peer: way.origin.name, refusal)])
            if ending == nil { await loop.wait(until: (began + refusal.delay).nanoseconds) }
            return .refused(refusal)
        }
    }
}
