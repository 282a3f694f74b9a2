package import TransferKeys
package import TransferModel
import TransferSystem

/// Decides who may come in, and whether those who are in may still be. Synchronous: it looks at files and may compute
/// for 0.1 s, so it is called on the pool.
///
/// What is not clearly allowed is refused. Lists are read again when they have changed.
package final class Authenticator: Sendable {
    /// What it knows, changed under a lock that is held while a list is read but not while a secret is hashed.
    struct State: Sendable {
        var keys = WatchedList<AuthorizedKey>(AccessFolder.keysName)
        var tokens = WatchedList<AccessToken>(AccessFolder.tokensName)
        var limiter = AttemptLimiter()
        var proven = ProvenTokens()
        /// Who has a mailbox, by the lists of these revisions.
        var people: (keys: Int, tokens: Int, index: [PathKey: AccessPerson])?
        /// Says which names are somebody's that no list has; nothing where there are none.
        var isReserved: (@Sendable (String) -> Bool)?
        /// What is to be logged.
        var faults: [String] = []

        mutating func note(_ more: [String]) {
            if !more.isEmpty { faults += more.prefix(Authenticator.mostFaults - faults.count) }
        }
    }

    /// Sentences that wait to be logged; a broken list that changes all the time must not fill the memory.
    private static let mostFaults = 64

    let folder: AccessFolder
    private let isOpen: Bool
    private let owner: PublicKey?
    let state = Locked(State())
    let hashing = HashingQueue()

    /// - Parameters:
    ///   - isOpen: whether it also lets in who shows nothing.
    ///   - owner: the key of the user who runs the server, let in from this machine.
    package init(_ folder: AccessFolder, isOpen: Bool = false, owner: PublicKey? = nil) {
        (self.folder, self.isOpen, self.owner) = (folder, isOpen, owner)
    }

    /// Decides about a client that has just come.
    ///
    /// - Parameters:
    ///   - now: by the calendar, for what expires.
    ///   - time: for failed attempts.
    package func authenticate(
        _ credentials: Credentials, at now: UTCTime, _ time: MonotonicTime
    ) throws(Refusal) -> Admission {
        let lists = refreshed()
        guard let shown = credentials.token ?? credentials.session else {
            return Admission(try grant(credentials, lists, now))
        }
        guard credentials.token != nil else { return try admission(session: shown, credentials, lists, now, time) }
        // Links and sessions are for browsers, which show them otherwise.
        let secret = AccessSecret(shown).flatMap { [.token, .pairing].contains($0.kind) ? $0 : nil }
        if secret?.kind == .pairing, let known = try? grant(credentials, lists, now) {
            // The code that let it in when it came first may be in the same command still.
            guard known.source == .everyone else { return Admission(known) }
            return (try? admission(credentials, secret, lists, now, time)) ?? Admission(known)
        }
        return try admission(credentials, secret, lists, now, time)
    }

    /// Decides about a client that came in before, and what it may do now: before each of its uploads.
    ///
    /// - Returns: what it may do; not always what it could before.
    package func recheck(_ grant: Grant, at now: UTCTime) throws(Refusal) -> Grant {
        // Of the lists, only the one is looked at that can say anything of it: that is a system call for each upload.
        let present: Grant? =
            switch grant.source {
            case .key(let key): refreshedKeys()[key].map(Grant.init)
            case .token(let id):
                refreshedTokens()[id].flatMap { [.token, .session].contains($0.kind) ? Grant($0) : nil }
            // Once it is in the list, that says what it may do.
            case .owner(let key): refreshedKeys()[key].map(Grant.init) ?? (owner == key ? grant : nil)
            case .listener: grant
            case .everyone: isOpen ? grant : nil
            }
        guard let present else { throw .revoked }
        guard !present.options.hasExpired(at: now) else { throw .expired(present.name, present.options) }
        return present
    }

    /// Whether there is a key or a token that lets somebody in.
    package func admitsAnybody(at now: UTCTime) -> Bool {
        let lists = refreshed()
        return lists.keys.entries.contains { !$0.options.hasExpired(at: now) }
            || lists.tokens.entries.contains { $0.kind == .token && !$0.options.hasExpired(at: now) }
    }

    /// Sentences to be logged, each once: lines of the lists that cannot be read, and whole lists.
    package func takeFaults() -> [String] {
        state.withLock { state in
            defer { state.faults = [] }
            return state.faults
        }
    }

    /// Both lists as they are now.
    func refreshed() -> (keys: AuthorizedKeys, tokens: AccessTokens) { (refreshedKeys(), refreshedTokens()) }

    private func refreshedKeys() -> AuthorizedKeys {
        state.withLock { state in
            state.note(state.keys.refresh(from: folder))
            return state.keys.list
        }
    }

    private func refreshedTokens() -> AccessTokens {
        state.withLock { state in
            state.note(state.tokens.refresh(from: folder))
            return state.tokens.list
        }
    }

    /// Has names kept from clients that choose theirs themselves, with a pairing code: those of people who have something waiting
    /// here, or had, and are in no list.
    package func reserve(_ isReserved: @escaping @Sendable (String) -> Bool) {
        state.withLock { $0.isReserved = isReserved }
    }

    /// Keeps a sentence to be logged.
    func note(_ fault: String) {
        state.withLock { $0.note([fault]) }
    }

    /// What a client may do without a token.
    private func grant(
        _ credentials: Credentials, _ lists: (keys: AuthorizedKeys, tokens: AccessTokens), _ now: UTCTime
    ) throws(Refusal) -> Grant {
        if let key = credentials.key, let entry = lists.keys[key] {
            guard !entry.options.hasExpired(at: now) else { throw .expired(entry.name, entry.options) }
            return Grant(entry)
        }
        if credentials.isLocal, let key = credentials.key, key == owner {
            return Grant(.owner(key), name: Grant.ownersName)
        }
        if isOpen { return Grant(.everyone, name: Grant.everyonesName) }
        throw credentials.key.map(Refusal.unknownKey) ?? .nothingShown
    }

}

extension Grant {
    init(_ entry: AuthorizedKey) {
        self.init(.key(entry.key), name: entry.name, options: entry.options)
    }

    init(_ token: AccessToken) {
        self.init(.token(token.id), name: token.name, options: token.options)
    }
}

/// How a client got in.
package struct Admission: Sendable {
    package let grant: Grant

    /// What was added to the list of keys for it just now, by a pairing code.
    package let enrolled: AuthorizedKey?

    init(_ grant: Grant, enrolled: AuthorizedKey? = nil) {
        (self.grant, self.enrolled) = (grant, enrolled)
    }
}
