package import TransferKeys
import TransferModel

/// Somebody who has a mailbox.
package struct MailPerson: Equatable, Sendable {
    package var name: String

    /// Names of those whose uploads this person takes; nothing for everybody's.
    package var takesFrom: [String]?

    /// Whether the name came over a wire without keys.
    package var isUnproven: Bool

    /// The keys that its machines are known by; nothing where that is not known of all.
    package var keys: [PublicKey]?

    package init(_ name: String, takesFrom: [String]? = nil, isUnproven: Bool = false, keys: [PublicKey]? = nil) {
        (self.name, self.takesFrom, self.isUnproven, self.keys) = (name, takesFrom, isUnproven, keys)
    }

    package func takes(from sender: String) -> Bool {
        takesFrom.map { names in names.contains { $0.hasSameBytes(as: sender) } } ?? true
    }
}

/// Who has a mailbox, as the server's operator says. Asked whenever somebody sends something, from any thread.
package protocol MailPeople: Sendable {
    /// Everybody, each name once.
    var people: [MailPerson] { get }

    /// - Returns: nothing for a name that nobody has.
    func person(_ name: String) -> MailPerson?

    /// Whether the name is somebody's, who may have no mailbox.
    func isTaken(_ name: String) -> Bool

    /// Whether all that the operator says could be read. Otherwise a name that nobody has may be somebody's.
    var isComplete: Bool { get }
}

extension MailPeople {
    package var isComplete: Bool { true }

    package func isTaken(_ name: String) -> Bool { person(name) != nil }
}
