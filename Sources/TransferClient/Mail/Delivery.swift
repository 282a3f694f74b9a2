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
    var closed: Failure?

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

/// What is known of the sender of content that travelled sealed.
public enum DeliverySeal: Sendable {
    /// It was opened, and it is what the sender has signed.
    case signed
    /// It was opened, and it has no signature: only the server says who sent it.
    case unsigned
    /// It was stored as it came, and was not compared with what a note says.
    case unopened
}

/// A delivery whose whole content this client has received. The client has computed size and digest itself, and they are those
/// that the server lists.
///
/// Only a verified delivery is settled as delivered, and only for one a receipt is signed. It cannot be built from the content of
/// one delivery and the server's description of another.
public struct VerifiedDelivery: Sendable {
    /// As it was listed.
    public let delivery: Delivery

    /// Nil for content that did not travel sealed.
    public let seal: DeliverySeal?

    /// - Parameters:
    ///   - computed: of what came, computed here.
    ///   - isOpened: whether the content was opened; if there is a note, the content was then compared with the note.
    /// - Returns: nil if size or digest differ from what the server lists.
    init?(_ delivery: Delivery, size: UInt64, computed: Digest, isOpened: Bool) {
        guard size == delivery.size, computed == delivery.digest else { return nil }
        self.delivery = delivery
        seal =
            if isOpened {
                delivery.opened == nil ? .unsigned : .signed
            } else {
                delivery.isSealed || delivery.isCalledSealed ? .unopened : nil
            }
    }
}

/// A part of a delivery that is read.
public enum DeliveryPart: Sendable {
    /// The next piece of the content has up to 4 MiB.
    case content([UInt8])
    /// The last part: the content is complete and verified. `TransferClient.settle` takes the value.
    case end(VerifiedDelivery)
}
