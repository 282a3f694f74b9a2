import TransferKeys
import TransferModel
import TransferSystem

extension Authenticator {
    /// Decides about a client by the secret that it has shown.
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

    /// The entry that the secret belongs to. What is wrong is counted against the address, and nothing else is: neither a
    /// key that nobody knows nor a secret that is right and of no more use closes it for others. A token that was found
    /// right before comes in also where it is closed, because it costs no computing.
    func entry(
        _ secret: AccessSecret?, _ credentials: Credentials, _ tokens: AccessTokens, _ time: MonotonicTime
    ) throws(Refusal) -> AccessToken {
        let entry = secret.flatMap { secret in tokens[secret.id].flatMap { $0.kind == secret.kind ? $0 : nil } }
        if let secret, let entry, state.withLock({ $0.proven.contains(secret, of: entry) }) { return entry }
        if let pause = state.withLock({ $0.limiter.pause(for: credentials.network, at: time) }) { throw .paused(pause) }
        // An id that is not there costs no computing, and is answered as one with a wrong secret is: also when too many
        // are being hashed.
        if secret != nil, entry == nil, hashing.isFull(for: credentials.network) { throw .tooManyAtOnce }
        guard let secret, let entry, try isRight(secret, of: entry, from: credentials.network) else {
            state.withLock { $0.limiter.fail(credentials.network, at: time) }
            throw .wrong(secret?.kind)
        }
        state.withLock { $0.limiter.succeed(credentials.network) }
        return entry
    }

    /// Whether the secret belongs to the entry. Hashes it, and remembers it where it will be shown again: by every further
    /// lane, or with every request.
    private func isRight(
        _ secret: AccessSecret, of entry: AccessToken, from network: PeerNetwork?
    ) throws(Refusal) -> Bool {
        let isRight = hashing.isRight("\(secret.text) \(entry.id) \(entry.hash)", of: entry.id, from: network) {
            let isRight = entry.hash.matches(secret)
            // Codes are shown once.
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
        // Another client was faster: this one had the right code.
        guard let entry else { throw .wrongCode }
        return Admission(Grant(entry), enrolled: entry)
    }

    /// What a client calls itself, if that can be a name.
    private static func name(_ hostName: String?) -> String {
        // Room for a number behind it.
        let longest = AccessLine.longestName - 8
        guard let hostName, hostName.utf8.count <= longest, (try? AccessLine.check(hostName)) != nil else {
            return "client"
        }
        return hostName
    }
}

extension Refusal {
    /// - Parameter kind: of what was shown; nothing for what cannot be a secret.
    fileprivate static func wrong(_ kind: AccessSecret.Kind?) -> Refusal {
        switch kind {
        case .pairing: .wrongCode
        case .web: .wrongLink
        case .session: .wrongSession
        case .token, nil: .wrongToken
        }
    }
}
