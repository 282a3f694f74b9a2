import Synchronization
import TransferConnection
import TransferIO
import TransferIntake
import TransferMail
import TransferModel
import TransferPorts
import TransferProtocol
import TransferSystem

/// Shows other clients that the person of a connection is connected, and notifies the client of new mail if it wants that.
///
/// ```
///   absent ──enter──► present ──watch──► listening ◄──news──► telling
/// ```
final class MailWatch {
    private enum State {
        /// The client has no mailbox, or has not said who it is.
        case absent
        /// The name under which the client was admitted; its name in the lists may have changed since.
        case present(String)
        case listening(String)
        /// The pool reads the newest delivery's number; `hasNews` says whether more has arrived since.
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

    /// Notes that the client was admitted as this person.
    func enter(_ person: String, of client: ServedClient) {
        state = .present(person)
        client.intake.mailroom?.enter(person, client.number)
    }

    func leave(_ client: ServedClient) {
        guard let person else { return }
        client.intake.mailroom?.leave(person, client.number)
    }

    /// Notifies the client of mail from now on, and once of what arrived before: it may be newer than the client's listing.
    func watch(_ client: ServedClient, on connection: isolated BinarySession.Connection) {
        guard case .present(let person) = state, let mailroom = client.intake.mailroom else { return }
        state = .listening(person)
        mailroom.watch(person, client.number) { [weak connection, bell] in
            if bell.ring() { connection?.start { await $0.session.mail.tell(on: $0) } }
        }
        connection.start { await $0.session.mail.tell(on: $0) }
    }

    /// Sends one frame for all mail that has arrived since the last one.
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

/// Whether a notification is on its way to a session, so that a thousand events at once cause one call.
final class MailBell: Sendable {
    private let isRinging = Atomic(false)

    /// - Returns: whether the caller has to notify the session.
    func ring() -> Bool { !isRinging.exchange(true, ordering: .acquiringAndReleasing) }

    func heard() { isRinging.store(false, ordering: .releasing) }
}
