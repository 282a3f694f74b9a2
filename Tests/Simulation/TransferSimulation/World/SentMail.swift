import TransferMail
import TransferModel
import TransferPorts
import TransferStore

extension World {
    /// What somebody sends to others.
    struct SentMail {
        let id: UploadID
        let content: Int
        let recipients: [String]
        let isInParts: Bool
        let caller: Int
        /// Whether its sender was told that it is in the mailboxes.
        var isPromised = false
        /// Why it was refused last.
        var refusal: Failure?
        /// Attempts so far.
        var attempts = 0
    }

    struct MailKey: Hashable {
        let id: UploadID
        let recipient: String
    }

    /// A delivery as it stands in the ledger.
    struct MailRow: Equatable {
        let state: DeliveryState
        let changed: Int64
        let path: String
        let size: Int
        let digest: [UInt8]
        /// Attempts to send it that had begun by then.
        var attempts = 0
    }

    /// What recipients have said, by what they said it of.
    struct Said {
        var states: Set<DeliveryState> = []
        /// What the server has confirmed last.
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
