package import TransferModel

/// An upload that is addressed to people, as the ledger keeps it.
package struct Mail: Equatable, Sendable {
    /// The server's id of the upload; deliveries are found by it.
    package var id: UploadID

    /// The name of the sender.
    package var sender: String

    /// Identifies the client that sent it; nil for a client without a key or token.
    package var client: UInt64?

    /// The sender's name for the upload: a path that was checked.
    package var name: String

    package var kind: ContentKind

    /// Bytes that the content has.
    package var size: UInt64

    /// Digest of the content, computed from what was stored.
    package var digest: Digest

    package var modified: Timestamp?

    /// Permission bits, 0 to 0o777.
    package var permissions: UInt16?

    /// The note of a sealed upload, which only the recipients can read.
    package var note: [UInt8]?

    /// The path of the content in the store.
    package var path: RelativePath

    /// When it was stored; UTC, in nanoseconds since 1970.
    package var queued: Int64

    /// Whether the sender came over a wire without keys, so that the name is not proven.
    package var isUnproven: Bool

    /// Whether the content was found to differ from what was acknowledged. The sender can send it again.
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
    /// Bytes that it costs the sender's quota while it waits.
    package var cost: UInt64 { size.addingClamped(QuotaPrice.mail(name, note: note?.count ?? 0)) }
}

/// One upload that is addressed to one person.
package struct Delivery: Equatable, Sendable {
    /// A number that grows with every delivery of the server.
    package var number: UInt64

    package var mail: Mail
    package var recipient: String
    package var state: DeliveryState

    /// When it got its state; UTC, in nanoseconds since 1970.
    package var changed: Int64

    /// The receipt that the recipient has signed.
    package var receipt: [UInt8]?

    package init(
        number: UInt64, mail: Mail, recipient: String, state: DeliveryState, changed: Int64, receipt: [UInt8]? = nil
    ) {
        (self.number, self.mail, self.recipient) = (number, mail, recipient)
        (self.state, self.changed, self.receipt) = (state, changed, receipt)
    }
}

/// The limits of a mailbox. A full mailbox takes nothing more before something in it has ended.
package struct MailLimits: Equatable, Sendable {
    /// The most deliveries that may wait for one person, and how many of them may be from one sender.
    package var count: Int
    package var countOfPair: Int

    /// The most bytes of content that may wait for one person, and how many of them may be from one sender.
    package var bytes: UInt64
    package var bytesOfPair: UInt64

    /// The most deliveries that wait for one person: all of them can be listed in a moment.
    package static let usualCount = 100_000

    /// - Parameter bytes: the most bytes that may wait for one person. One sender may fill half of it, so that no
    ///   sender can shut out the others.
    package init(count: Int = usualCount, bytes: UInt64) {
        (self.count, countOfPair) = (count, max(1, count / 2))
        (self.bytes, bytesOfPair) = (bytes, max(1, bytes / 2))
    }
}

/// The sender of a mail.
package struct MailSender: Equatable, Sendable {
    package let name: String

    /// Whether the name came over a wire without keys.
    package let isUnproven: Bool

    package init(_ name: String, isUnproven: Bool = false) {
        (self.name, self.isUnproven) = (name, isUnproven)
    }
}

extension Mail {
    /// The sender of the mail.
    package var from: MailSender { MailSender(sender, isUnproven: isUnproven) }
}

/// Why a mail is refused for a recipient.
package enum MailRefusal: Error, Equatable, Sendable {
    /// There is no mailbox with this name.
    case unknown(String)
    /// This person takes nothing from the sender.
    case declines(String)
    /// The mailbox has as many deliveries or bytes as it may have.
    case full(String, MailLimits)
    /// The mailbox has as much from this sender as it may have.
    case fullOfYours(String, MailLimits)
    /// The mailbox has as much from senders without keys as it may have.
    case fullOfUnproven(String, MailLimits)
    /// The id belongs to other content, which a recipient has or waits for.
    case otherContent
    /// The sender has no name.
    case noName
    /// The server keeps no mailboxes, or cannot for now.
    case unavailable(String)
}
