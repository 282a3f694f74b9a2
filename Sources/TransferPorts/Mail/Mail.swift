package import TransferModel

/// An upload that is for somebody, as the ledger keeps it.
package struct Mail: Equatable, Sendable {
    /// The server's id of the upload; deliveries go by it.
    package var id: UploadID

    /// Who sent it, by name.
    package var sender: String

    /// Tells the client that sent it from all others; nothing for one that cannot be told from others.
    package var client: UInt64?

    /// As the sender calls it: a path that was checked.
    package var name: String

    package var kind: ContentKind

    /// Bytes of content.
    package var size: UInt64

    /// Computed from what was stored.
    package var digest: Digest

    package var modified: Timestamp?

    /// Permission bits, 0 to 0o777.
    package var permissions: UInt16?

    /// What only the recipients can read, of a sealed upload.
    package var note: [UInt8]?

    /// Where the content is.
    package var path: RelativePath

    /// When it was stored; UTC, in nanoseconds since 1970.
    package var queued: Int64

    /// Whether the sender came over a wire without keys, so that nobody can say who it was.
    package var isUnproven: Bool

    /// Whether the content was found to be something else than what was acknowledged: its sender can bring it again.
    package var isRotten: Bool

    package init(
        id: UploadID, sender: String, client: UInt64?, name: String, kind: ContentKind, size: UInt64, digest: Digest,
        modified: Timestamp? = nil, permissions: UInt16? = nil, note: [UInt8]? = nil, path: RelativePath, queued: Int64,
        isUnproven: Bool = false, isRotten: Bool = false
    ) {
        (self.id, self.sender, self.client, self.name) = (id, sender, client, name)
        (self.kind, self.size, self.digest) = (kind, size, digest)
        (self.modified, self.permissions, self.note) = (modified, permissions, note)
        (self.path, self.queued, self.isUnproven, self.isRotten) = (path, queued, isUnproven, isRotten)
    }
}

extension Mail {
    /// Bytes that it costs its sender's quota as long as it waits.
    package var cost: UInt64 { size.addingClamped(QuotaPrice.mail(name, note: note?.count ?? 0)) }
}

/// One upload on its way to one person.
package struct Delivery: Equatable, Sendable {
    /// Grows with every delivery of the server.
    package var number: UInt64

    package var mail: Mail
    package var recipient: String
    package var state: DeliveryState

    /// When it came to its state; UTC, in nanoseconds since 1970.
    package var changed: Int64

    /// What the recipient has signed.
    package var receipt: [UInt8]?

    package init(
        number: UInt64, mail: Mail, recipient: String, state: DeliveryState, changed: Int64, receipt: [UInt8]? = nil
    ) {
        (self.number, self.mail, self.recipient) = (number, mail, recipient)
        (self.state, self.changed, self.receipt) = (state, changed, receipt)
    }
}

/// What a mailbox may hold. One that is full takes nothing more before something in it has ended.
package struct MailLimits: Equatable, Sendable {
    /// Deliveries that may wait for one person, and of them those from one sender.
    package var count: Int
    package var countOfPair: Int

    /// Bytes of their content.
    package var bytes: UInt64
    package var bytesOfPair: UInt64

    /// Deliveries that wait for one person: a listing of them all takes a moment.
    package static let usualCount = 100_000

    /// - Parameter bytes: that may wait for one person. One sender may fill half of it, so that no one can shut out the
    ///   others.
    package init(count: Int = usualCount, bytes: UInt64) {
        (self.count, countOfPair) = (count, max(1, count / 2))
        (self.bytes, bytesOfPair) = (bytes, max(1, bytes / 2))
    }
}

/// Whom a mail is from.
package struct MailSender: Equatable, Sendable {
    package let name: String

    /// Whether the name came over a wire without keys.
    package let isUnproven: Bool

    package init(_ name: String, isUnproven: Bool = false) {
        (self.name, self.isUnproven) = (name, isUnproven)
    }
}

extension Mail {
    /// Whom it is from.
    package var from: MailSender { MailSender(sender, isUnproven: isUnproven) }
}

/// Why an upload is not taken for somebody.
package enum MailRefusal: Error, Equatable, Sendable {
    /// Nobody of that name has a mailbox.
    case unknown(String)
    /// This person takes nothing from the sender.
    case declines(String)
    /// The mailbox holds as much as it may.
    case full(String, MailLimits)
    /// It holds as much from this sender as it may.
    case fullOfYours(String, MailLimits)
    /// It holds as much from senders without keys as it may.
    case fullOfUnproven(String, MailLimits)
    /// Its id stands for other content, which somebody has or waits for.
    case otherContent
    /// The sender has no name.
    case noName
    /// The server keeps no mailboxes, or cannot for now.
    case unavailable(String)
}
