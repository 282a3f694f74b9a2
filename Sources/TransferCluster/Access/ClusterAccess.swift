package import TransferAccess
package import TransferKeys
import TransferModel
package import TransferPorts
import TransferSystem

/// The access lists of a cluster, in its database. Safe to use from any thread.
///
/// A server reads the lists again when another server says that it has edited them, and when half a second has passed
/// since it has last compared their revisions: news can be lost.
package final class ClusterAccess: AccessLists {
    /// The lists as they were read last.
    fileprivate struct Known: Sendable {
        var keys = CurrentList<AuthorizedKey>(ClusterAccess.keysName)
        var tokens = CurrentList<AccessToken>(ClusterAccess.tokensName)
        /// When the revisions were compared, in nanoseconds of the monotonic clock; nil before the first time.
        var compared: Int64?
    }

    private static let keysName = "keys"
    private static let tokensName = "tokens"

    /// Nanoseconds after which the revisions are usually compared again.
    package static let usualInterval: Int64 = 500_000_000

    private let interval: Int64
    private let ledger: any ClusterLedger
    private let news: (any ServerNews)?
    private let monotonic: @Sendable () -> Int64
    private let known = Locked(Known())
    /// Held by one edit of this server at a time.
    private let editing = Locked(())

    /// - Parameters:
    ///   - interval: nanoseconds after which the revisions are compared again.
    ///   - news: says to other servers that lists were edited; nil if there are no others.
    package init(
        _ ledger: any ClusterLedger, interval: Int64 = usualInterval, news: (any ServerNews)? = nil,
        monotonic: @escaping @Sendable () -> Int64 = monotonicNanoseconds
    ) {
        (self.ledger, self.interval, self.news, self.monotonic) = (ledger, interval, news, monotonic)
        news?.listen { [weak self] news in
            if news.changesAccess { self?.known.withLock { $0.compared = nil } }
        }
    }

    package var keys: CurrentList<AuthorizedKey> { current.keys }
    package var tokens: CurrentList<AccessToken> { current.tokens }

    /// The lists, compared with the database if that is due. If the database cannot be read, no client is admitted.
    private var current: Known {
        let now = monotonic()
        return known.withLock { known in
            if let compared = known.compared, now - compared < interval { return known }
            do throws(LedgerError) {
                known.update(try ledger.accessLists([Self.keysName, Self.tokensName]))
                known.compared = now
            } catch {
                let fault = AccessFault("The access lists cannot be read: \(error.message)")
                known.keys = known.keys.unreadable(fault)
                known.tokens = known.tokens.unreadable(fault)
                known.compared = nil
            }
            return known
        }
    }

    /// The most times that an edit is made again because another server has changed the lists.
    private static let mostAttempts = 16

    package func edit<Result>(
        _ body: (any AccessEditing) throws(AccessFault) -> Result
    ) throws(AccessFault) -> Result {
        var result: Result?
        try editing.withLock { (_) throws(AccessFault) in
            for _ in 0..<Self.mostAttempts {
                let term = ledger.term
                let before = try read()
                let draft = try Draft(before)
                let made = try body(draft)
                guard try write(draft, over: before, since: term) else { continue }
                result = made
                return
            }
            throw AccessFault("Other servers change the access lists all the time; try again.")
        }
        guard let result else { throw AccessFault("The access lists were not changed.") }
        return result
    }

    private func read() throws(AccessFault) -> [AccessListRow] {
        do throws(LedgerError) {
            return try ledger.accessLists([Self.keysName, Self.tokensName])
        } catch {
            throw AccessFault("The access lists cannot be read: \(error.message)")
        }
    }

    /// - Parameter term: the term before the lists were read.
    /// - Returns: false if another server has changed a list meanwhile.
    private func write(
        _ draft: Draft, over before: [AccessListRow], since term: LedgerTerm
    ) throws(AccessFault) -> Bool {
        let lists = zip(before, [draft.keys.content, draft.tokens.content]).compactMap { row, content in
            row.content == content ? nil : AccessListRow(row.name, content, revision: row.revision)
        }
        do throws(LedgerError) {
            guard !lists.isEmpty else {
                // Another server may have made the same edit a moment ago.
                try ledger.awaitDurability(of: term)
                return true
            }
            try ledger.replace(lists)
        } catch {
            guard error.reason == .conflict else {
                throw AccessFault("The access lists cannot be changed: \(error.message)")
            }
            return false
        }
        known.withLock { $0.compared = nil }
        news?.post(NewsBatch(changesAccess: true))
        return true
    }

    /// The lists with the changes that one edit has made so far.
    private final class Draft: AccessEditing {
        private(set) var keys: AuthorizedKeys
        private(set) var tokens: AccessTokens

        /// - Parameter rows: the keys, then the tokens.
        init(_ rows: [AccessListRow]) throws(AccessFault) {
            guard rows.count == 2 else { throw AccessFault("The database has not returned the access lists.") }
            (keys, tokens) = (AuthorizedKeys(rows[0].content), AccessTokens(rows[1].content))
        }

        func change<Result>(
            keys body: (inout AuthorizedKeys) throws(AccessFault) -> Result
        ) throws(AccessFault) -> Result {
            var changed = keys
            let result = try body(&changed)
            keys = changed
            return result
        }

        func change<Result>(
            tokens body: (inout AccessTokens) throws(AccessFault) -> Result
        ) throws(AccessFault) -> Result {
            var changed = tokens
            let result = try body(&changed)
            tokens = changed
            return result
        }
    }
}

extension ClusterAccess.Known {
    /// - Parameter rows: the keys, then the tokens.
    fileprivate mutating func update(_ rows: [AccessListRow]) {
        guard rows.count == 2 else { return }
        keys = keys.updated(rows[0].content)
        tokens = tokens.updated(rows[1].content)
    }
}

extension CurrentList {
    /// The list with this content, as a new revision; this list if the content is the same.
    fileprivate func updated(_ content: [UInt8]) -> CurrentList {
        guard fault != nil || content != list.content else { return self }
        return CurrentList(name, AccessList(content), revision: revision + 1)
    }

    fileprivate func unreadable(_ fault: AccessFault) -> CurrentList {
        self.fault == fault ? self : CurrentList(name, AccessList(), revision: revision + 1, fault: fault)
    }
}

extension ClusterAccess: ManagedAccess {
    /// The lists exist in each database that a server or a command has prepared.
    package func make() {}

    package func requireUsed() {}

    package func keep(shownKey key: KeyFingerprint) throws(AccessFault) {
        do throws(LedgerError) {
            try ClusterNotes(ledger).write(.shownKey, Array(key.description.utf8))
        } catch {
            throw AccessFault("The key cannot be stored in the database: \(error.message)")
        }
    }

    package func shownKey() throws(AccessFault) -> KeyFingerprint? {
        let content: [UInt8]?
        do throws(LedgerError) { content = try ClusterNotes(ledger).read(.shownKey) } catch {
            throw AccessFault("The key cannot be read from the database: \(error.message)")
        }
        return content.flatMap { KeyFingerprint(String(decoding: $0, as: UTF8.self)) }
    }
}
