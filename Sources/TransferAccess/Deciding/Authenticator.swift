package import TransferKeys
package import TransferModel
import TransferSystem

/// Decides which clients may connect, and whether connected clients may stay, according to the present access lists.
/// Synchronous: it reads the lists and may compute for 0.1 s, so it is called on the pool.
///
/// Everything that is not clearly allowed is refused.
package final class Authenticator: Sendable {
    /// State under a lock, which is held neither while lists are read nor while a secret is hashed.
    struct State: Sendable {
        var limiter = AttemptLimiter()
        var proven = ProvenTokens()
        /// People with a mailbox, computed from the lists with these revisions.
        var people: (keys: Int, tokens: Int, index: [PathKey: AccessPerson])?
        /// Whether a name that is in no list is reserved for a person; nil if no names are reserved.
        var isReserved: (@Sendable (String) -> Bool)?
        /// For each list, by its name: the latest revision whose faults were recorded.
        var noted: [String: Int] = [:]
        /// Sentences that wait to be logged.
        var faults: [String] = []

        mutating func note(_ more: [String]) {
            if !more.isEmpty { faults += more.prefix(Authenticator.mostFaults - faults.count) }
        }

        /// Records the faults of a list, once for each revision.
        mutating func note<Entry>(_ list: CurrentList<Entry>) {
            guard list.revision > noted[list.name, default: 0] else { return }
            noted[list.name] = list.revision
            note(list.sentences)
        }
    }

    /// Most sentences that wait to be logged. There is a limit because a broken list may change all the time.
    private static let mostFaults = 64

    let lists: any AccessLists
    private let isOpen: Bool
    private let owner: PublicKey?
    let state = Locked(State())
    let hashing = HashingQueue()

    /// - Parameters:
    ///   - isOpen: whether to admit clients that have neither key nor token.
    ///   - owner: key of the user who runs the server; admitted only from this machine.
    package init(_ lists: any AccessLists, isOpen: Bool = false, owner: PublicKey? = nil) {
        (self.lists, self.isOpen, self.owner) = (lists, isOpen, owner)
    }

    /// Decides whether a new client is admitted.
    ///
    /// - Parameters:
    ///   - now: calendar time, for expiry.
    ///   - time: monotonic time, for failed attempts.
    package func authenticate(
        _ credentials: Credentials, at now: UTCTime, _ time: MonotonicTime
    ) throws(Refusal) -> Admission {
        let lists = present()
        guard let shown = credentials.token ?? credentials.session else {
            return Admission(try grant(credentials, lists, now))
        }
        guard credentials.token != nil else { return try admission(session: shown, credentials, lists, now, time) }
        // In a token's place, only tokens and pairing codes are accepted: browsers send links and sessions in other
        // ways.
        let secret = AccessSecret(shown).flatMap { [.token, .pairing].contains($0.kind) ? $0 : nil }
        if secret?.kind == .pairing, let known = try? grant(credentials, lists, now) {
            // The client's command may still contain the code that has enrolled its key.
            guard known.source == .everyone else { return Admission(known) }
            return (try? admission(credentials, secret, lists, now, time)) ?? Admission(known)
        }
        return try admission(credentials, secret, lists, now, time)
    }

    /// Decides whether a connected client may continue. Called before each upload.
    ///
    /// - Returns: the client's present rights, which may have changed.
    package func recheck(_ grant: Grant, at now: UTCTime) throws(Refusal) -> Grant {
        // Reads only the list that can contain the client, because reading a list is a system call, made for each
        // upload.
        let present: Grant? =
            switch grant.source {
            case .key(let key): keys.list[key].map(Grant.init)
            case .token(let id):
                tokens.list[id].flatMap { [.token, .session].contains($0.kind) ? Grant($0) : nil }
            // If the owner's key is also in the list, its line determines the rights.
            case .owner(let key): keys.list[key].map(Grant.init) ?? (owner == key ? grant : nil)
            case .listener: grant
            case .everyone: isOpen ? grant : nil
            }
        guard let present else { throw .revoked }
        guard !present.options.hasExpired(at: now) else { throw .expired(present.name, present.options) }
        return present
    }

    /// Whether any key or token admits a client.
    package func admitsAnybody(at now: UTCTime) -> Bool {
        let lists = present()
        return lists.keys.entries.contains { !$0.options.hasExpired(at: now) }
            || lists.tokens.entries.contains { $0.kind == .token && !$0.options.hasExpired(at: now) }
    }

    /// Returns sentences about unreadable lines and lists, to be logged. Each sentence is returned once.
    package func takeFaults() -> [String] {
        state.withLock { state in
            defer { state.faults = [] }
            return state.faults
        }
    }

    /// Both lists as they are now.
    func present() -> (keys: AuthorizedKeys, tokens: AccessTokens) { (keys.list, tokens.list) }

    /// The present list of keys. If it has faults, they are recorded for the log.
    var keys: CurrentList<AuthorizedKey> {
        let keys = lists.keys
        if !keys.isComplete { state.withLock { $0.note(keys) } }
        return keys
    }

    /// The present list of tokens. If it has faults, they are recorded for the log.
    var tokens: CurrentList<AccessToken> {
        let tokens = lists.tokens
        if !tokens.isComplete { state.withLock { $0.note(tokens) } }
        return tokens
    }

    /// Reserves names, so that clients with a pairing code cannot take them: those of people who have or had deliveries
    /// on this server and are in no list.
    package func reserve(_ isReserved: @escaping @Sendable (String) -> Bool) {
        state.withLock { $0.isReserved = isReserved }
    }

    /// Records a sentence to be logged.
    func note(_ fault: String) {
        state.withLock { $0.note([fault]) }
    }

    /// Rights of a client without a token.
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

/// The result of a successful authentication.
package struct Admission: Sendable {
    package let grant: Grant

    /// The line that a pairing code has just added to the list of keys; nil otherwise.
    package let enrolled: AuthorizedKey?

    init(_ grant: Grant, enrolled: AuthorizedKey? = nil) {
        (self.grant, self.enrolled) = (grant, enrolled)
    }
}
