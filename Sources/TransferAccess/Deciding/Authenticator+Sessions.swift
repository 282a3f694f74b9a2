package import TransferModel
import TransferSystem

/// Sessions of browsers. A link, which can be used once, begins a session, and the browser sends the session's secret
/// with every request.
extension Authenticator {
    /// Checks a link without using it, because programs that preview links also open them.
    ///
    /// - Parameter text: the link's secret as it was sent.
    package func link(
        _ text: String, _ credentials: Credentials, at now: UTCTime, _ time: MonotonicTime
    ) throws(Refusal) -> AccessToken {
        let secret = AccessSecret(text).flatMap { $0.kind == .web ? $0 : nil }
        let link: AccessToken
        do throws(Refusal) {
            link = try entry(secret, credentials, tokens.list, time)
        } catch {
            throw error == .wrongToken ? .wrongLink : error
        }
        guard !link.options.hasExpired(at: now), let end = link.sessionEnds, end > now else { throw .wrongLink }
        return link
    }

    /// Uses a link to begin a session.
    ///
    /// - Returns: the session, and the secret for its browser.
    package func beginSession(
        _ text: String, _ credentials: Credentials, at now: UTCTime, _ time: MonotonicTime
    ) throws(Refusal) -> (secret: AccessSecret, session: AccessToken) {
        let link = try link(text, credentials, at: now, time)
        let secret = AccessSecret.random(.session)
        var hash: SecretHash?
        let isHashed = hashing.isRight(secret.text, of: link.id, from: credentials.network) {
            hash = SecretHash(hashing: secret)
            return hash != nil
        }
        guard isHashed != nil else { throw .tooManyAtOnce }
        guard let hash else { throw .withoutCiphers }
        let session: AccessToken?
        do throws(AccessFault) {
            session = try lists.beginSession(secret, hash, with: link, at: now)
        } catch {
            note(error.message)
            throw Refusal(.storageFailed, "The server could not save the session; its log says why.")
        }
        // Another browser has used the link in the meantime.
        guard let session else { throw .wrongLink }
        state.withLock { $0.proven.insert(secret, of: session) }
        return (secret, session)
    }

    /// Decides whether a browser is admitted, by its session's secret.
    func admission(
        session text: String, _ credentials: Credentials, _ lists: (keys: AuthorizedKeys, tokens: AccessTokens),
        _ now: UTCTime, _ time: MonotonicTime
    ) throws(Refusal) -> Admission {
        let secret = AccessSecret(text).flatMap { $0.kind == .session ? $0 : nil }
        do throws(Refusal) {
            return try admission(credentials, secret, lists, now, time)
        } catch {
            throw error == .wrongToken ? .wrongSession : error
        }
    }

    /// Ends a session.
    ///
    /// - Returns: whether the session existed.
    package func endSession(_ id: String) throws(AccessFault) -> Bool {
        try !lists.revoke { $0.kind == .session && $0.id == id }.isEmpty
    }
}
