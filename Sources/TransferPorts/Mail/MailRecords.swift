package import TransferModel

/// The records of mailboxes: which mail waits for whom, and what became of it. What they contain is part of what is
/// acknowledged, so damaged records are never replaced. Synchronous and safe to call from any thread. Each change is
/// made as a whole, and is as durable as the records are when the call returns.
package protocol MailRecords: AnyObject, Sendable {
    /// The number and bytes of deliveries that wait for one person; nil for all.
    func waiting(for recipient: String?) -> (count: Int, bytes: UInt64)

    /// Why one more delivery to a recipient is refused; nil if there is room for it.
    func refusal(_ size: UInt64, from sender: MailSender, to recipient: String, _ limits: MailLimits) -> MailRefusal?

    /// Puts mails into mailboxes, in one transaction. A person receives an upload once: if the upload waits already or
    /// was received, nothing changes. If it was declined or has expired, it waits again.
    ///
    /// - Parameter isThere: whether there is still content at a path.
    /// - Returns: the result for each mail, in order.
    func queue(
        _ mails: [(mail: Mail, recipients: [String])], _ limits: MailLimits, isThere: (RelativePath) -> Bool
    ) throws(RecordsError) -> [QueuedMail]

    /// The deliveries of an upload that was queued before, in any state.
    func deliveries(of id: UploadID) throws(RecordsError) -> [Delivery]

    /// The deliveries for a recipient, in the order of their numbers.
    ///
    /// - Parameters:
    ///   - number: the number after which the deliveries begin; those up to it are left out.
    ///   - limit: the most deliveries to return.
    ///   - withEnded: whether deliveries are included that cannot be fetched any more.
    func inbox(
        of recipient: String, after number: UInt64, limit: Int, withEnded: Bool
    ) throws(RecordsError) -> [Delivery]

    /// The deliveries from a sender, in the order of their numbers, in any state.
    func sent(by sender: String, after number: UInt64, limit: Int) throws(RecordsError) -> [Delivery]

    /// - Returns: nil if the upload was never addressed to this person.
    func delivery(of id: UploadID, to recipient: String) throws(RecordsError) -> Delivery?

    /// The deliveries of several uploads to one person; uploads that were never addressed to this person are left out.
    func deliveries(of ids: [UploadID], to recipient: String) throws(RecordsError) -> [Delivery]

    /// The largest number that any delivery has had.
    func newestNumber() throws(RecordsError) -> UInt64

    /// The uploads of one client that still wait: their number, and their cost in the client's quota in bytes.
    func open(from client: UInt64) throws(RecordsError) -> (count: Int, bytes: UInt64)

    /// The paths of content that a recipient can still receive.
    func openPaths() throws(RecordsError) -> Set<RelativePath>

    /// Notes that deliveries were sent to their recipient completely, although the recipient has not confirmed that
    /// they are stored safely. Nothing depends on this note, so it is not synced.
    ///
    /// - Parameter deliveries: deliveries as the ledger has returned them.
    /// - Returns: the deliveries that were not noted before.
    func fetched(_ deliveries: [Delivery], at moment: Int64) throws(RecordsError) -> [Delivery]

    /// Notes that the content of a waiting mail is not what was acknowledged. The mail keeps waiting, and a client that
    /// sends the same upload again repairs it.
    func noteRotten(_ id: UploadID) throws(RecordsError)

    /// Records, all or nothing, that a recipient has received or declined uploads. Repeating the call changes nothing.
    /// An upload that the recipient confirms as received counts as received, whatever was recorded before.
    ///
    /// - Parameters:
    ///   - state: `delivered` or `declined`.
    ///   - receipts: returns, for the deliveries in the order of `ids`, what the recipient has signed of each; nil if
    ///     the recipient has signed something else. Called while the ledger is locked, so that it sees what is
    ///     recorded.
    func settle(
        _ ids: [UploadID], by recipient: String, as state: DeliveryState, at moment: Int64,
        receipts: (([Delivery]) -> [[UInt8]]?)?
    ) throws(RecordsError) -> SettledMail

    /// Ends some of the deliveries that have waited longer than `age`.
    ///
    /// - Parameters:
    ///   - age: nanoseconds of the ledger's own clock.
    ///   - now: UTC, in nanoseconds since 1970.
    func expire(
        after age: Int64, at now: Int64, limit: Int
    ) throws(RecordsError) -> EndedDeliveries

    /// Forgets mails that ended longer ago than `age`, and stores the time of the ledger's clock. A mail that a client
    /// sends again after that is delivered again.
    ///
    /// - Parameter age: nanoseconds of the ledger's own clock.
    func forget(endedBefore age: Int64) throws(RecordsError)

    /// All people that the records know.
    func people() throws(RecordsError) -> [KnownPerson]

    /// Names from wires without keys that no delivery is addressed to or from, the oldest first.
    func idlePeople(limit: Int) throws(RecordsError) -> [String]

    func forget(people names: [String]) throws(RecordsError)

    /// Records people as they are now.
    ///
    /// - Parameter moment: UTC, in nanoseconds since 1970.
    func keep(_ persons: [KnownPerson], at moment: Int64) throws(RecordsError)

    /// Closes the records for good, so that another server may use them.
    func close()
}

extension MailRecords {
    /// The number and bytes of all waiting deliveries.
    package func waiting() -> (count: Int, bytes: UInt64) { waiting(for: nil) }

    /// The deliveries that a recipient can fetch or has received, in the order of their numbers.
    package func inbox(of recipient: String, after number: UInt64, limit: Int) throws(RecordsError) -> [Delivery] {
        try inbox(of: recipient, after: number, limit: limit, withEnded: false)
    }
}

/// The result of queueing a mail.
package enum QueuedMail: Equatable, Sendable {
    /// The mail waits for every recipient, or has waited before.
    ///
    /// - Parameters:
    ///   - fresh: the recipients for whom the mail is new.
    ///   - isKept: whether the recipients receive the new content. If not, the new content is not needed.
    ///   - freed: the earlier mail with this id, whose content is not needed any more.
    case queued(fresh: [String], isKept: Bool, freed: Mail?)
    case refused(MailRefusal)
}

/// The result of ending deliveries.
package struct EndedDeliveries: Equatable, Sendable {
    /// The deliveries that were changed by this call.
    package var deliveries: [Delivery] = []

    /// Mails whose content is not needed any more.
    package var freed: [Mail] = []

    package init() {}
}

/// The result of `settle`, by which a recipient confirms or declines deliveries.
package enum SettledMail: Equatable, Sendable {
    case ended(EndedDeliveries)
    /// One of the uploads was never addressed to this person.
    case notForYou
    /// The recipient has signed something else.
    case badSignature

    package var ended: EndedDeliveries? { if case .ended(let ended) = self { ended } else { nil } }
}

/// What the records know of a person besides deliveries.
package struct KnownPerson: Equatable, Sendable {
    package var name: String

    /// The person's public key for sealed uploads, signed by the person.
    package var sealingKey: [UInt8]?

    /// Whether the name came over a wire without keys, so that it is not proven.
    package var isUnproven: Bool

    package init(name: String, sealingKey: [UInt8]? = nil, isUnproven: Bool) {
        (self.name, self.sealingKey, self.isUnproven) = (name, sealingKey, isUnproven)
    }
}
