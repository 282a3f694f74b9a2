package import TransferModel
package import TransferPorts

/// A mail whose deliveries have not all been forgotten.
package struct MailRow: Equatable, Sendable {
    package var mail: Mail

    /// When it was stored, by the database's clock; UTC, in nanoseconds since 1970.
    package var since: Int64

    package init(_ mail: Mail, since: Int64) { (self.mail, self.since) = (mail, since) }
}

/// A mail for one person.
package struct DeliveryRow: Equatable, Sendable {
    /// A number that grows with every delivery of the cluster.
    package let number: UInt64
    package let id: UploadID
    package let recipient: String
    package var state: DeliveryState

    /// When it got its state; UTC, in nanoseconds since 1970.
    package var changed: Int64

    /// When it got its state, by the database's clock; UTC, in nanoseconds since 1970.
    package var since: Int64

    /// The receipt that the recipient has signed.
    package var receipt: [UInt8]?

    package init(
        number: UInt64, id: UploadID, recipient: String, state: DeliveryState, changed: Int64, since: Int64,
        receipt: [UInt8]? = nil
    ) {
        (self.number, self.id, self.recipient, self.state) = (number, id, recipient, state)
        (self.changed, self.since, self.receipt) = (changed, since, receipt)
    }

    package func delivery(of mail: Mail) -> Delivery {
        Delivery(number: number, mail: mail, recipient: recipient, state: state, changed: changed, receipt: receipt)
    }
}

/// What decisions about some mails and some mailboxes depend on, as it was at one moment.
package struct MailFacts: Sendable {
    /// How much waits in a mailbox from one sender.
    package struct Waiting: Equatable, Sendable {
        package let recipient: String
        package let sender: MailSender
        package var count: Int
        package var bytes: UInt64

        package init(for recipient: String, from sender: MailSender, count: Int, bytes: UInt64) {
            (self.recipient, self.sender, self.count, self.bytes) = (recipient, sender, count, bytes)
        }
    }

    /// A number that grows with every change of mails and deliveries.
    package var revision: Int64

    /// The largest number that any delivery has had.
    package var lastNumber: UInt64

    /// The time of the database's clock; UTC, in nanoseconds since 1970.
    package var now: Int64

    /// The mails that were asked for, as far as they are known, with all their deliveries.
    package var mails: [UploadID: MailRow]
    package var deliveries: [DeliveryRow]

    /// What waits in the mailboxes that were asked for, by senders. All senders without keys count as one.
    package var waiting: [Waiting]

    package init(
        revision: Int64, lastNumber: UInt64, now: Int64, mails: [UploadID: MailRow] = [:],
        deliveries: [DeliveryRow] = [], waiting: [Waiting] = []
    ) {
        (self.revision, self.lastNumber, self.now) = (revision, lastNumber, now)
        (self.mails, self.deliveries, self.waiting) = (mails, deliveries, waiting)
    }
}

/// Changes of mails and deliveries that take effect together.
package struct MailChanges: Equatable, Sendable {
    /// The revision of the facts that the changes depend on.
    package var revision: Int64

    /// New mails, and mails in place of those with their IDs.
    package var mails: [UploadID: MailRow] = [:]

    /// New deliveries, and deliveries in place of those with their numbers.
    package var deliveries: [UInt64: DeliveryRow] = [:]

    /// The numbers of deliveries that are removed.
    package var removed: Set<UInt64> = []

    package init(after facts: MailFacts) { revision = facts.revision }

    package var isEmpty: Bool { mails.isEmpty && deliveries.isEmpty && removed.isEmpty }
}
