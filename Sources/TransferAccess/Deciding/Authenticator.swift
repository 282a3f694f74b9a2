package import TransferKeys
package import TransferModel
import TransferSystem

/// Decides who may come in, and whether those who are in may still be, by lists as they are at that moment. Synchronous: it asks for the
/// lists and may compute for 0.1 s, so it is called on the pool.
///
/// What is not clearly allowed is refused.
package final class Authenticator: Sendable {
    /// What it knows, changed under a lock that is held neither while lists are asked for nor while a secret is hashed.
    struct State: Sendable {
        var limiter = AttemptLimiter()
        var proven = ProvenTokens()
        /// Who has a mailbox, by the lists of these revisions.
        var people: (keys: Int, tokens: Int, index: [PathKey: AccessPerson])?
        /// Says which names are somebody's that no list has; nothing where there are none.
        var isReserved: (@Sendable (String) -> Bool)?
        /// The revision of each list, by its name, whose faults were noted last.
        var noted: [String: Int] = [:]
        /// What is to be logged.
        var faults: [String] = []

        mutating func note(_ more: [String]) {
            if !more.isEmpty { faults += more.prefix(Authenticator.mostFaults - faults.count) }
        }

        /// Notes what is wrong with a list, once.
        mutating func note<Entry>(_ list: CurrentList<Entry>) {
            guard list.revision > noted[list.name, default: 0] else { return }
            noted[list.name] = list.revision
            note(list.sentences)
        }
    }

    /// Sentences that wait to be logged; a broken list that changes all the time must not fill the memory.
    private static let mostFaults = 64

    let lists: any AccessLists
    private let isOpen: Bool
    private let owner: PublicKey?
    let state = Locked(State())
    let hashing = HashingQueue()

    /// - Parameters:
    ///   - isOpen: whether it also lets in who shows nothing.
    ///   - owner: the key of the user who runs the server, let in from this machine.
    package init(_ lists: any AccessLists, isOpen: Bool = false, owner: PublicKey? = nil) {
        (self.lists, self.isOpen, self.owner) = (lists, isOpen, owner)
    }

    /// Decides about a client that has just come.
    ///
    /// - Parameters:
    ///   - now: by the calendar, for what expires.
    ///   - time: for failed attempts.
    package func authenticate(
        _ credentials: Credentials, at now: UTCTime, _ time: MonotonicTime
    ) throws(Refusal) -> Admission {
        let lists = present()
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
        // Of the lists, only the one is asked for that can say anything of it: that is a system call for each upload.
        let present: Grant? =
            switch grant.source {
            case .key(let key): keys.list[key].map(Grant.init)
            case .token(let id):
                tokens.list[id].flatMap { [.token, .session].contains($0.kind) ? Grant($0) : nil }
            // Once it is in the list, that says what it may do.
            case .owner(let key): keys.list[key].map(Grant.init) ?? (owner == key ? grant : nil)
            case .listener: grant
            case .everyone: isOpen ? grant : nil
            }
        guard let present else { throw .revoked }
        guard !present.options.hasExpired(at: now) else { throw .expired(present.name, present.options) }
        return present
    }

    /// Whether there is a key or a token that lets somebody in.
    package func admitsAnybody(at now: UTCTime) -> Bool {
        let lists = present()
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
    func present() -> (keys: AuthorizedKeys, tokens: AccessTokens) { (keys.list, tokens.list) }

    /// The list of keys as it is now. What is wrong with it will be logged.
    var keys: CurrentList<AuthorizedKey> {
        let keys = lists.keys
        if !keys.isComplete { state.withLock { $0.note(keys) } }
        return keys
    }

    /// The list of tokens in the same way.
    var tokens: CurrentList<AccessToken> {
        let tokens = lists.tokens
        if !tokens.isComplete { state.withLock { $0.note(tokens) } }
        return tokens
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
