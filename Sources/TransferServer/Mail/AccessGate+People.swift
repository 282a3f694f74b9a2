import TransferAccess
import TransferIntake
import TransferMail
import TransferModel

/// Gives every person in the lists a mailbox.
extension AccessGate: MailPeople {
    var people: [MailPerson] { listed.map(MailPerson.init) }

    func person(_ name: String) -> MailPerson? { listed(name).map(MailPerson.init) }

    func isTaken(_ name: String) -> Bool { hasLine(for: name) }

    var isComplete: Bool { hasWholeLists }
}

extension MailPerson {
    fileprivate init(_ person: AccessPerson) {
        self.init(person.name, takesFrom: person.takesFrom, keys: person.keys)
    }
}

extension Caller {
    /// Whether the client has a name under which others can send to it.
    func hasMailbox(in intake: Intake) -> Bool { person != nil && intake.mailroom?.isOpen ?? false }
}
