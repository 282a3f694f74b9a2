import TransferMail
import TransferModel
import TransferPorts
import TransferStore

extension World {
    /// An upload to the mailboxes of other clients.
    struct SentMail {
        let id: UploadID
        let content: Int
        let recipients: [String]
        let isInParts: Bool
        let caller: Int
        /// Whether the sender has received the answer that the mail is in the mailboxes.
        var isPromised = false
        /// Reason of the last refusal.
        var refusal: Failure?
        /// Number of attempts so far.
        var attempts = 0
    }

    struct MailKey: Hashable {
        let id: UploadID
        let recipient: String
    }

    /// A delivery as the ledger records it.
    struct MailRow: Equatable {
        let state: DeliveryState
        let changed: Int64
        let path: String
        let size: Int
        let digest: [UInt8]
        /// Attempts to send the mail that had begun by then.
        var attempts = 0
    }

    /// States that a recipient has reported for one delivery.
    struct Said {
        var states: Set<DeliveryState> = []
        /// State that the server has confirmed last.
        var confirmed: DeliveryState?
    }

    struct SimulatedPeople: MailPeople {
        static let names = ["owner", "guest", "bob", "carol"]

        var people: [MailPerson] {
            Self.names.map { MailPerson($0, takesFrom: $0.hasSameBytes(as: "carol") ? ["owner", "bob"] : nil) }
        }

        func person(_ name: String) -> MailPerson? { people.first { $0.name.hasSameBytes(as: name) } }
    }
}
