import TransferIntake
import TransferPorts
import TransferStore
import TransferSystem

extension World {
    /// A connection.
    final class Session {
        let intake: IntakeSession
        let caller: Int
        /// Connections are counted.
        let number: Int
        var current: Current?
        /// What is all there and not published.
        var sealed: [Attempt] = []
        /// Whether some of what is all there is for somebody.
        var hasMail = false
        /// When the uploads were published that it has yet to be told of.
        var published: [Int: PublishedMoment] = [:]
        /// Whether its client has gone, and what it has sent is still on its way.
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
