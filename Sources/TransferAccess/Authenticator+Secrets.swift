import TransferKeys
import TransferProtocol
import TransferSystem

extension Authenticator {
    /// Decides about a client by the secret that it has shown.
    func admission(
        _ credentials: Credentials, _ secret: AccessSecret?, _ lists: (keys: AuthorizedKeys, tokens: AccessTokens),
        _ now: UTCTime, _ time: MonotonicTime
    ) throws(Refusal) -> Admission {
        if let pause = state.withLock({ $0.limiter.pause(for: credentials.network, at: time) }) { throw .paused(pause) }
        guard let secret else { throw .wrongToken }
        let wrong: Refusal = secret.kind == .pairing ? .wrongCode : .wrongToken
        // An id that is not there costs no computing, and is answered as late as a wrong secret.
        guard let entry = lists.tokens[secret.id], entry.kind == secret.kind else { throw wrong }
        guard try isRight(secret, of: entry) else { throw wrong }
        guard !entry.options.hasExpired(at: now) else {
            throw secret.kind == .pairing ? wrong : .expired(entry.name, entry.options)
        }
        let admission = secret.kind == .pairing ? try enrol(credentials, entry) : Admission(Grant(entry))
        state.withLock { $0.limiter.succeed(credentials.network) }
        return admission
    }

    /// Whether the secret belongs to the entry. Hashes it once, and remembers that of tokens: every further lane shows
    /// the same one.
    private func isRight(_ secret: AccessSecret, of entry: AccessToken) throws(Refusal) -> Bool {
        let mayHash: Bool? = state.withLock { state in
            if state.proven.contains(secret, of: entry) { return nil }
            guard state.hashing < Self.mostHashing else { return false }
            state.hashing += 1
            return true
        }
        guard let mayHash else { return true }
        guard mayHash else { throw .tooManyAtOnce }
        let isRight = entry.hash.matches(secret)
        state.withLock { state in
            state.hashing -= 1
            if isRight, entry.kind == .token { state.proven.insert(secret, of: entry) }
        }
        return isRight
    }

    private func enrol(_ credentials: Credentials, _ code: AccessToken) throws(Refusal) -> Admission {
        guard let key = credentials.key else { throw .codeWithoutKey }
        let entry: AuthorizedKey?
        do throws(AccessFault) {
            entry = try folder.enrol(key, named: Self.name(credentials.hostName), with: code)
        } catch {
            note(error.message)
            throw Refusal(.storageFailed, "The server could not enrol this client's key; its log says why.")
        }
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
