package import TransferModel

/// What waits for whom in mailboxes, and what became of it. What they say is part of what is acknowledged, so they are never replaced when
/// they are damaged. Synchronous and safe to call from any thread; each change is done as a whole, and as durable as the records are when it
/// returns.
package protocol MailRecords: AnyObject, Sendable {
    /// What waits for one person, or for all.
    func waiting(for recipient: String?) -> (count: Int, bytes: UInt64)

    /// Whether one more delivery has a place.
    func refusal(_ size: UInt64, from sender: MailSender, to recipient: String, _ limits: MailLimits) -> MailRefusal?

    /// Puts mails into mailboxes, all in one transaction. An upload comes to each person once: where it waits already or was
    /// received nothing changes. What was declined or has expired waits anew.
    ///
    /// - Parameter isThere: whether there is still content at a path.
    /// - Returns: what came of each, in order.
    func queue(
        _ mails: [(mail: Mail, recipients: [String])], _ limits: MailLimits, isThere: (RelativePath) -> Bool
    ) throws(RecordsError) -> [QueuedMail]

    /// An upload that was queued before, with all that became of it.
    func deliveries(of id: UploadID) throws(RecordsError) -> [Delivery]

    /// What is for somebody, in order of the numbers.
    ///
    /// - Parameters:
    ///   - number: only what has a larger one.
    ///   - limit: deliveries at most.
    ///   - withEnded: also what nobody can fetch any more.
    func inbox(
        of recipient: String, after number: UInt64, limit: Int, withEnded: Bool
    ) throws(RecordsError) -> [Delivery]

    /// What somebody has sent, in order of the numbers, whatever became of it.
    func sent(by sender: String, after number: UInt64, limit: Int) throws(RecordsError) -> [Delivery]

    /// - Returns: nothing where that upload was never for this person.
    func delivery(of id: UploadID, to recipient: String) throws(RecordsError) -> Delivery?

    /// The same of several: those that there are.
    func deliveries(of ids: [UploadID], to recipient: String) throws(RecordsError) -> [Delivery]

    /// The largest number that any delivery has had.
    func newestNumber() throws(RecordsError) -> UInt64

    /// What a client has sent and still waits: how many uploads, and bytes of the client's quota.
    func open(from client: UInt64) throws(RecordsError) -> (count: Int, bytes: UInt64)

    /// Where the content is that somebody can still have.
    func openPaths() throws(RecordsError) -> Set<RelativePath>

    /// All of some deliveries has been sent to their recipient, who has not said that it is safe. Nothing depends on it, so it
    /// is not synced.
    ///
    /// - Parameter deliveries: as the ledger has told of them.
    /// - Returns: those of which that is news.
    func fetched(_ deliveries: [Delivery], at moment: Int64) throws(RecordsError) -> [Delivery]

    /// What somebody waits for is no longer what was acknowledged. It waits on: whoever brings the same upload again mends it.
    func noteRotten(_ id: UploadID) throws(RecordsError)

    /// A recipient has received uploads, or doesn't want them: all of it is written down, or nothing. What is said again
    /// changes nothing. What somebody says to have received he has, whatever was said before.
    ///
    /// - Parameters:
    ///   - state: `delivered` or `declined`.
    ///   - receipts: makes of the deliveries, in the order of `ids`, what the recipient has signed of each; nothing where the
    ///     signature is of something else. Asked with the ledger held, so that it is of what is written down.
    func settle(
        _ ids: [UploadID], by recipient: String, as state: DeliveryState, at moment: Int64,
        receipts: (([Delivery]) -> [[UInt8]]?)?
    ) throws(RecordsError) -> SettledMail

    /// Ends what has waited for longer than that, some of it.
    ///
    /// - Parameters:
    ///   - age: nanoseconds by the ledger's own clock.
    ///   - now: UTC, in nanoseconds since 1970.
    func expire(
        after age: Int64, at now: Int64, limit: Int
    ) throws(RecordsError) -> EndedDeliveries

    /// Forgets mails that ended longer ago than that, and writes down what the ledger's clock says. Whoever sends one of them
    /// again sends it anew.
    ///
    /// - Parameter age: nanoseconds by the ledger's own clock.
    func forget(endedBefore age: Int64) throws(RecordsError)

    /// All that are known.
    func people() throws(RecordsError) -> [KnownPerson]

    /// Names from wires without keys that no delivery is for or from, those that came first in front.
    func idlePeople(limit: Int) throws(RecordsError) -> [String]

    func forget(people names: [String]) throws(RecordsError)

    /// Writes down what is known of people now.
    ///
    /// - Parameter moment: UTC, in nanoseconds since 1970.
    func keep(_ persons: [KnownPerson], at moment: Int64) throws(RecordsError)

    /// Lets go of them for good, so that another server may have them.
    func close()
}

extension MailRecords {
    /// What waits for all.
    package func waiting() -> (count: Int, bytes: UInt64) { waiting(for: nil) }

    /// What somebody can still fetch or has, in order of the numbers.
    package func inbox(of recipient: String, after number: UInt64, limit: Int) throws(RecordsError) -> [Delivery] {
        try inbox(of: recipient, after: number, limit: limit, withEnded: false)
    }
}

/// What came of a mail that was to be queued.
package enum QueuedMail: Equatable, Sendable {
    /// It waits for all of its recipients, or has waited.
    ///
    /// - Parameters:
    ///   - fresh: those for whom it is new.
    ///   - isKept: whether its content is what they get. Otherwise the content that came now is one too many.
    ///   - freed: what it was before, whose content nobody needs any more.
    case queued(fresh: [String], isKept: Bool, freed: Mail?)
    case refused(MailRefusal)
}

/// What came of deliveries that ended.
package struct EndedDeliveries: Equatable, Sendable {
    /// Those that changed now.
    package var deliveries: [Delivery] = []

    /// Those whose content nobody needs any more.
    package var freed: [Mail] = []

    package init() {}
}

/// What came of deliveries that their recipient has spoken of.
package enum SettledMail: Equatable, Sendable {
    case ended(EndedDeliveries)
    /// One of them was never for this person.
    case notForYou
    /// What the recipient has signed is something else.
    case badSignature

    package var ended: EndedDeliveries? { if case .ended(let ended) = self { ended } else { nil } }
}

/// What the records know of somebody beside deliveries.
package struct KnownPerson: Equatable, Sendable {
    package var name: String

    /// What the person says of its key for sealed uploads, signed by it.
    package var sealingKey: [UInt8]?

    /// Whether the name came over a wire without keys, so that nobody can say whose it is.
    package var isUnproven: Bool

    package init(name: String, sealingKey: [UInt8]? = nil, isUnproven: Bool) {
        (self.name, self.sealingKey, self.isUnproven) = (name, sealingKey, isUnproven)
    }
}
