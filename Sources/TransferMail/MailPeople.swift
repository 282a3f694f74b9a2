package import TransferKeys
import TransferModel

/// A person who has a mailbox.
package struct MailPerson: Equatable, Sendable {
    package var name: String

    /// Names of the senders whose uploads this person takes; nil for all.
    package var takesFrom: [String]?

    /// Whether the name came over a wire without keys.
    package var isUnproven: Bool

    /// The keys of the person's machines; nil if not all of them are known.
    package var keys: [PublicKey]?

    package init(_ name: String, takesFrom: [String]? = nil, isUnproven: Bool = false, keys: [PublicKey]? = nil) {
        (self.name, self.takesFrom, self.isUnproven, self.keys) = (name, takesFrom, isUnproven, keys)
    }

    package func takes(from sender: String) -> Bool {
        takesFrom.map { names in names.contains { $0.hasSameBytes(as: sender) } } ?? true
    }
}

/// The people with mailboxes, as the server's operator has listed them. Called for each mail, from any thread.
package protocol MailPeople: Sendable {
    /// All people with mailboxes, each name once.
    var people: [MailPerson] { get }

    /// - Returns: nil for an unknown name.
    func person(_ name: String) -> MailPerson?

    /// Whether the name belongs to a person, even if that person has no mailbox.
    func isTaken(_ name: String) -> Bool

    /// Whether all lists of the operator could be read. If not, an unknown name may belong to a person.
    var isComplete: Bool { get }
}

extension MailPeople {
    package var isComplete: Bool { true }

    package func isTaken(_ name: String) -> Bool { person(name) != nil }
}
