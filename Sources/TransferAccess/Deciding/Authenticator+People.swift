package import TransferKeys
package import TransferModel
import TransferSystem

/// Somebody in the lists. Who may fetch what is stored has a mailbox.
package struct AccessPerson: Equatable, Sendable {
    package let name: String

    /// Names of those whose uploads this person takes; nothing for everybody's.
    package fileprivate(set) var takesFrom: [String]?

    /// Those of its lines; nothing for one that is let in by a token, too: then any key may be that machine's.
    package fileprivate(set) var keys: [PublicKey]?

    /// When the last access of this name ends; nothing for never.
    fileprivate var expires: UTCTime?

    fileprivate var hasMailbox: Bool
}

/// Who has a mailbox. Several lines of one name are one person with several machines, who takes what any of them takes.
extension Authenticator {
    /// - Returns: nothing for a name that nobody has, or not any more.
    package func person(_ name: String, at now: UTCTime) -> AccessPerson? {
        index[PathKey(name)].flatMap { $0.hasMailbox(at: now) ? $0 : nil }
    }

    /// Everybody, in no order.
    package func people(at now: UTCTime) -> [AccessPerson] { index.values.filter { $0.hasMailbox(at: now) } }

    /// Whether any line has the name, also one that has ended or is for sending only: it is nobody else's.
    package func hasLine(for name: String) -> Bool { index[PathKey(name)] != nil }

    /// Whether all of both lists could be read. Otherwise a name that no line has may be in one that admits nobody.
    package var isComplete: Bool {
        let (keys, tokens) = (keys, tokens)
        return keys.isComplete && tokens.isComplete
    }

    private var index: [PathKey: AccessPerson] {
        let (keys, tokens) = (keys, tokens)
        return state.withLock { state in
            if let people = state.people, people.keys == keys.revision, people.tokens == tokens.revision {
                return people.index
            }
            var index: [PathKey: AccessPerson] = [:]
            for entry in keys.list.entries { index.add(entry.name, entry.options, entry.key) }
            for entry in tokens.list.entries where entry.kind == .token {
                index.add(entry.name, entry.options, nil)
            }
            // Their names are nobody else's, and mail comes to no browser.
            for entry in tokens.list.entries where entry.kind == .session {
                var options = entry.options
                options.rights = .writeOnly
                index.add(entry.name, options, nil)
            }
            state.people = (keys.revision, tokens.revision, index)
            return index
        }
    }
}

extension AccessPerson {
    fileprivate func hasMailbox(at now: UTCTime) -> Bool { hasMailbox && expires.map { $0 > now } ?? true }
}

extension [PathKey: AccessPerson] {
    /// - Parameter owner: nothing for the line of a token.
    fileprivate mutating func add(_ name: String, _ options: AccessOptions, _ owner: PublicKey?) {
        let key = PathKey(name)
        let person = AccessPerson(
            name: name, takesFrom: options.mailFrom, keys: owner.map { [$0] }, expires: options.expires,
            hasMailbox: options.rights.mayRead)
        guard var known = self[key], known.hasMailbox else {
            self[key] = person
            return
        }
        guard person.hasMailbox else { return }
        known.takesFrom = known.takesFrom.flatMap { names in options.mailFrom.map { names + $0 } }
        known.keys = known.keys.flatMap { keys in owner.map { keys + [$0] } }
        known.expires = known.expires.flatMap { time in options.expires.map { Swift.max(time, $0) } }
        self[key] = known
    }
}
