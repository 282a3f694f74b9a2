package import TransferModel
import TransferSystem

/// Somebody in the lists who may fetch what is stored, and so has a mailbox.
package struct AccessPerson: Equatable, Sendable {
    package let name: String

    /// Names of those whose uploads this person takes; nothing for everybody's.
    package fileprivate(set) var takesFrom: [String]?

    /// When the last access of this name ends; nothing for never.
    fileprivate var expires: UTCTime?
}

/// Who has a mailbox. Several lines of one name are one person with several machines, who takes what any of them takes.
extension Authenticator {
    /// - Returns: nothing for a name that nobody has, or not any more.
    package func person(_ name: String, at now: UTCTime) -> AccessPerson? {
        index[PathKey(name)].flatMap { $0.hasExpired(at: now) ? nil : $0 }
    }

    /// Everybody, in no order.
    package func people(at now: UTCTime) -> [AccessPerson] { index.values.filter { !$0.hasExpired(at: now) } }

    private var index: [PathKey: AccessPerson] {
        let lists = refreshed()
        return state.withLock { state in
            let (keys, tokens) = (state.keys.revision, state.tokens.revision)
            if let people = state.people, people.keys == keys, people.tokens == tokens { return people.index }
            var index: [PathKey: AccessPerson] = [:]
            for entry in lists.keys.entries { index.add(entry.name, entry.options) }
            for entry in lists.tokens.entries where entry.kind == .token { index.add(entry.name, entry.options) }
            state.people = (keys, tokens, index)
            return index
        }
    }
}

extension AccessPerson {
    fileprivate func hasExpired(at now: UTCTime) -> Bool { expires.map { $0 <= now } ?? false }
}

extension [PathKey: AccessPerson] {
    fileprivate mutating func add(_ name: String, _ options: AccessOptions) {
        guard options.rights.mayRead else { return }
        let key = PathKey(name)
        guard var known = self[key] else {
            self[key] = AccessPerson(name: name, takesFrom: options.mailFrom, expires: options.expires)
            return
        }
        known.takesFrom = known.takesFrom.flatMap { names in options.mailFrom.map { names + $0 } }
        known.expires = known.expires.flatMap { time in options.expires.map { Swift.max(time, $0) } }
        self[key] = known
    }
}
