import TransferIntake
import TransferPorts
import TransferStore
import TransferSystem

extension World {
    /// A connection of a client.
    final class Session {
        let intake: IntakeSession
        let caller: Int
        /// Number of the connection, in the order in which connections began.
        let number: Int
        var current: Current?
        /// Attempts that are complete and not published.
        var sealed: [Attempt] = []
        /// Whether some of the complete uploads are mail.
        var hasMail = false
        /// Moments at which uploads were published whose answers the client has yet to receive.
        var published: [Int: PublishedMoment] = [:]
        /// Whether the client has gone while its content is still on its way.
        var isGone: Bool { client.isGone.withLock { $0 } }
        private let client = Client()

        init(_ intake: IntakeSession, caller: Int, number: Int) {
            (self.intake, self.caller, self.number) = (intake, caller, number)
            intake.sender = Sender(connection: number) { [client] in client.isGone.withLock { $0 } }
        }

        func fade() { client.isGone.withLock { $0 = true } }
    }

    private final class Client: Sendable {
        let isGone = Locked(false)
    }
}
