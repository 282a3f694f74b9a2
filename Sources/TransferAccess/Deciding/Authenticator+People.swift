package import TransferKeys
package import TransferModel
import TransferSystem

/// A person in the access lists. People with the right to fetch have a mailbox.
package struct AccessPerson: Equatable, Sendable {
    package let name: String

    /// Names of people whose uploads this person accepts; nil if the person accepts everyone's.
    package fileprivate(set) var takesFrom: [String]?

    /// Keys of the person's lines. Nil for a person who also has a token, because the person may use it on any machine,
    /// with any key.
    package fileprivate(set) var keys: [PublicKey]?

    /// Time at which the last of the person's lines expires; nil if one of them never expires.
    fileprivate var expires: UTCTime?

    fileprivate var hasMailbox: Bool
}

/// Finds the people with a mailbox. Several lines with one name are one person with several machines. That person
/// accepts uploads that any of the lines accepts.
extension Authenticator {
    /// - Returns: nil for an unknown name, or one whose access has expired.
    package func person(_ name: String, at now: UTCTime) -> AccessPerson? {
        index[PathKey(name)].flatMap { $0.hasMailbox(at: now) ? $0 : nil }
    }

    /// All people with a mailbox, in no order.
    package func people(at now: UTCTime) -> [AccessPerson] { index.values.filter { $0.hasMailbox(at: now) } }

    /// Whether any line has the name, even if it has expired or permits only sending: no other person may get the name.
    package func hasLine(for name: String) -> Bool { index[PathKey(name)] != nil }

    /// Whether both lists could be read completely. If not, a name that seems free may be that of an unreadable line.
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
            // Names of sessions are reserved, but browsers have no mailbox.
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
    /// - Parameter owner: the line's key; nil for a token.
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
