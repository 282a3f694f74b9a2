import TransferCodec
public import TransferModel
import TransferProtocol

/// What one person has sent to another through a server, and what became of it.
public struct Delivery: Sendable, Equatable {
    /// Grows with every delivery of the server.
    public let number: UInt64

    /// The server's own id of it: the same for its sender and all its recipients, and not that of the upload.
    public let id: UploadID

    /// What became of it.
    public let state: DeliveryState

    /// The other one: of what came, who has sent it; of what was sent, whom it is for.
    public let person: String

    /// What its sender calls it: a path. It comes from somebody else, and can be no path at all.
    public let name: String

    /// What the content is.
    public let kind: ContentKind

    /// Bytes of content.
    public let size: UInt64

    /// Of the content, as the server computed it.
    public let digest: Digest

    /// When it came to the server; milliseconds since 1970, by the server's clock.
    public let queued: Int64

    /// When it came to its state; as `queued`.
    public let changed: Int64

    /// What only the recipients can read, of a sealed upload.
    public let note: [UInt8]?

    /// What the recipient has signed: one line of JSON. Where it was asked for and is there; nothing is verified.
    public let receipt: [UInt8]?

    /// Whether its sender came over a wire without keys: it may have been anybody who reaches the server there.
    public let isUnproven: Bool

    /// What its note says, of a sealed one: where this client can open it, and it is signed by a key that is known as the sender's.
    public internal(set) var opened: DeliveryNote?

    /// Why there is nothing of that.
    var closed: LocalFailure?

    /// SHA-256 of the note; nil without a note.
    var noteDigest: [UInt8]? {
        note.map { note in note.withUnsafeBytes { BlockHasher.digest(.sha256, $0) } }
    }

    /// When its sender's content last changed.
    package let modified: Timestamp?

    /// Permission bits that its sender's content has, 0 to 0o777.
    package let permissions: UInt16?

    init(_ listed: ListedDelivery) {
        (number, id, state, person, name) = (listed.number, listed.id, listed.state, listed.person, listed.name)
        (kind, size, digest, queued, changed) = (listed.kind, listed.size, listed.digest, listed.queued, listed.changed)
        (note, receipt, modified, isUnproven) = (listed.note, listed.receipt, listed.modified, listed.isUnproven)
        permissions = listed.permissions.map { $0 & 0o777 }
    }
}
