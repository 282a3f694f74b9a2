import Synchronization
import TransferConnection
import TransferIO
import TransferIntake
import TransferMail
import TransferModel
import TransferPorts
import TransferProtocol
import TransferSystem

/// Others see that the person of a connection is there, and the person hears of new mail where it wants to.
///
/// ```
///   absent ──enter──► present ──watch──► listening ◄──news──► telling
/// ```
final class MailWatch {
    private enum State {
        /// The client has no mailbox, or has not said who it is.
        case absent
        /// Under this name; another line may give the client another one since.
        case present(String)
        case listening(String)
        /// The pool looks what has come; whether more has come since.
        case telling(String, hasNews: Bool)
    }

    private var state = State.absent
    private let bell = MailBell()

    private var person: String? {
        switch state {
        case .absent: nil
        case .present(let person), .listening(let person), .telling(let person, _): person
        }
    }

    /// Whether the client waits for mail.
    var isListening: Bool {
        switch state {
        case .absent, .present: false
        case .listening, .telling: true
        }
    }

    /// The client was let in as this person.
    func enter(_ person: String, of client: ServedClient) {
        state = .present(person)
        client.intake.mailroom?.enter(person, client.number)
    }

    func leave(_ client: ServedClient) {
        guard let person else { return }
        client.intake.mailroom?.leave(person, client.number)
    }

    /// Tells the client of what comes from now on. What came before that, it is told of once: it may have been after the
    /// answer was made.
    func watch(_ client: ServedClient, on connection: isolated BinarySession.Connection) {
        guard case .present(let person) = state, let mailroom = client.intake.mailroom else { return }
        state = .listening(person)
        mailroom.watch(person, client.number) { [weak connection, bell] in
            if bell.ring() { connection?.start { await $0.session.mail.tell(on: $0) } }
        }
        connection.start { await $0.session.mail.tell(on: $0) }
    }

    /// One frame for all that has come since the last one was made.
    private func tell(on connection: isolated BinarySession.Connection) async {
        bell.heard()
        let session = connection.session
        guard let mailroom = session.client.intake.mailroom else { return }
        switch state {
        case .absent, .present: return
        case .telling(let person, _): state = .telling(person, hasNews: true)
        case .listening(let person):
            state = .telling(person, hasNews: true)
            while case .telling(_, true) = state, connection.ending == nil {
                state = .telling(person, hasNews: false)
                let newest = await session.onPool { (try? mailroom.ledger.newestNumber()) ?? 0 }
                if connection.ending == nil { session.send(.arrived(newest), on: connection) }
            }
            state = .listening(person)
        }
    }
}

/// Whether news of mail is on its way to a session, so that a thousand of them at once make one call.
final class MailBell: Sendable {
    private let isRinging = Atomic(false)

    /// - Returns: whether the session is to be told.
    func ring() -> Bool { !isRinging.exchange(true, ordering: .acquiringAndReleasing) }

    func heard() { isRinging.store(false, ordering: .releasing) }
}
