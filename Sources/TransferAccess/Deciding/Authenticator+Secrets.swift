import TransferKeys
import TransferModel
import TransferSystem

extension Authenticator {
    /// Decides whether a client with a secret is admitted.
    func admission(
        _ credentials: Credentials, _ secret: AccessSecret?, _ lists: (keys: AuthorizedKeys, tokens: AccessTokens),
        _ now: UTCTime, _ time: MonotonicTime
    ) throws(Refusal) -> Admission {
        let entry = try entry(secret, credentials, lists.tokens, time)
        guard !entry.options.hasExpired(at: now) else {
            throw entry.kind == .pairing ? .wrongCode : .expired(entry.name, entry.options)
        }
        return entry.kind == .pairing ? try enrol(credentials, entry) : Admission(Grant(entry))
    }

    /// Finds the entry of a secret. Only wrong secrets count against the address: an unknown key, or a right secret
    /// that has expired, does not lock the address for others. A secret that was verified before is accepted even from
    /// a locked address, because that needs no hashing.
    func entry(
        _ secret: AccessSecret?, _ credentials: Credentials, _ tokens: AccessTokens, _ time: MonotonicTime
    ) throws(Refusal) -> AccessToken {
        let entry = secret.flatMap { secret in tokens[secret.id].flatMap { $0.kind == secret.kind ? $0 : nil } }
        if let secret, let entry, state.withLock({ $0.proven.contains(secret, of: entry) }) { return entry }
        if let pause = state.withLock({ $0.limiter.pause(for: credentials.network, at: time) }) { throw .paused(pause) }
        // A secret with an unknown ID is not hashed, but the answer must not show that: it is the same as for a wrong
        // secret, even while too many secrets are being hashed.
        if secret != nil, entry == nil, hashing.isFull(for: credentials.network) { throw .tooManyAtOnce }
        guard let secret, let entry, try isRight(secret, of: entry, from: credentials.network) else {
            state.withLock { $0.limiter.fail(credentials.network, at: time) }
            throw .wrong(secret?.kind)
        }
        state.withLock { $0.limiter.succeed(credentials.network) }
        return entry
    }

    /// Whether the secret belongs to the entry. Hashes the secret and, if it is right, remembers it, because a client
    /// sends it again with every further lane or request.
    private func isRight(
        _ secret: AccessSecret, of entry: AccessToken, from network: PeerNetwork?
    ) throws(Refusal) -> Bool {
        let isRight = hashing.isRight("\(secret.text) \(entry.id) \(entry.hash)", of: entry.id, from: network) {
            let isRight = entry.hash.matches(secret)
            // A pairing code is used only once, so it need not be remembered.
            if isRight, entry.kind != .pairing { state.withLock { $0.proven.insert(secret, of: entry) } }
            return isRight
        }
        guard let isRight else { throw .tooManyAtOnce }
        return isRight
    }

    private func enrol(_ credentials: Credentials, _ code: AccessToken) throws(Refusal) -> Admission {
        guard let key = credentials.key else { throw .codeWithoutKey }
        let entry: AuthorizedKey?
        do throws(AccessFault) {
            let isReserved = state.withLock { $0.isReserved }
            entry = try lists.enrol(
                key, named: Self.name(credentials.hostName), with: code, isReserved: isReserved ?? { _ in false })
        } catch {
            note(error.message)
            throw Refusal(.storageFailed, "The server could not enrol this client's key; its log says why.")
        }
        // Another client has used the code in the meantime.
        guard let entry else { throw .wrongCode }
        return Admission(Grant(entry), enrolled: entry)
    }

    /// The name that the client gives itself, or "client" if that name is invalid.
    private static func name(_ hostName: String?) -> String {
        // There must be room for a number after the name.
        let longest = AccessLine.longestName - 8
        guard let hostName, hostName.utf8.count <= longest, (try? AccessLine.check(hostName)) != nil else {
            return "client"
        }
        return hostName
    }
}

extension Refusal {
    /// - Parameter kind: kind of the secret; nil if it is malformed.
    fileprivate static func wrong(_ kind: AccessSecret.Kind?) -> Refusal {
        switch kind {
        case .pairing: .wrongCode
        case .web: .wrongLink
        case .session: .wrongSession
        case .token, nil: .wrongToken
        }
    }
}
