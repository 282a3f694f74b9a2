import TransferCodec
public import TransferModel
import TransferProtocol

/// What one person has sent to another through a server, and its state.
public struct Delivery: Sendable, Equatable {
    /// A number that grows with every delivery on the server.
    public let number: UInt64

    /// The server's id of the delivery. It is the same for the sender and all recipients, and is not the id of the
    /// upload.
    public let id: UploadID

    /// The state as the server knows it.
    public let state: DeliveryState

    /// The other person: the sender in the inbox, the recipient among sent deliveries.
    public let person: String

    /// The path that the sender gave the content. It comes from another client and may be invalid.
    public let name: String

    /// The kind of the content, as the server lists it.
    public let kind: ContentKind

    /// The size of the content in bytes.
    public let size: UInt64

    /// The digest of the content that the server computed.
    public let digest: Digest

    /// When it arrived at the server, in milliseconds since 1970 by the server's clock.
    public let queued: Int64

    /// When it reached its state, in the same unit as `queued`.
    public let changed: Int64

    /// The encrypted description of a sealed upload, which only its recipients can read; nil if it is not sealed.
    public let note: [UInt8]?

    /// The recipient's signed receipt, one line of JSON, not verified; nil unless it was asked for and exists.
    public let receipt: [UInt8]?

    /// Whether the sender connected without a key. Then any client that can connect to the server in this way can have
    /// sent the delivery.
    public let isUnproven: Bool

    /// The decrypted note of a sealed delivery; nil unless this client can open it and the known key of the sender has
    /// signed it.
    public internal(set) var opened: DeliveryNote?

    /// The reason why `opened` is nil, if the delivery is sealed.
    var closed: Failure?

    /// SHA-256 of the note; nil without a note.
    var noteDigest: [UInt8]? {
        note.map { note in note.withUnsafeBytes { BlockHasher.digest(.sha256, $0) } }
    }

    /// When the sender's content last changed.
    package let modified: Timestamp?

    /// The permission bits of the sender's content, 0 to 0o777.
    package let permissions: UInt16?

    init(_ listed: ListedDelivery) {
        (number, id, state, person, name) = (listed.number, listed.id, listed.state, listed.person, listed.name)
        (kind, size, digest, queued, changed) = (listed.kind, listed.size, listed.digest, listed.queued, listed.changed)
        (note, receipt, modified, isUnproven) = (listed.note, listed.receipt, listed.modified, listed.isUnproven)
        permissions = listed.permissions.map { $0 & 0o777 }
    }
}

/// What is known of the sender of sealed content.
public enum DeliverySeal: Sendable {
    /// The content was opened, and it is what the sender has signed.
    case signed
    /// The content was opened, and has no signature: only the server says who sent it.
    case unsigned
    /// The content was stored encrypted, and was not compared with a note.
    case unopened
}

/// A delivery whose whole content this client has received. The client has computed size and digest itself, and they are those
/// that the server lists.
///
/// Only a verified delivery can be settled as delivered, and receipts are signed for verified deliveries only. A value
/// cannot be made from the content of one delivery and the server's description of another.
public struct VerifiedDelivery: Sendable {
    /// The delivery as the server listed it.
    public let delivery: Delivery

    /// What is known of the sender; nil for content that was not sealed.
    public let seal: DeliverySeal?

    /// - Parameters:
    ///   - computed: the digest of the received content, computed here.
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

/// A piece of a delivery that is being read, or its end.
public enum DeliveryPart: Sendable {
    /// The next piece of the content, up to 4 MiB.
    case content([UInt8])
    /// The last part: the content is complete and verified. `TransferClient.settle` takes the value.
    case end(VerifiedDelivery)
}
