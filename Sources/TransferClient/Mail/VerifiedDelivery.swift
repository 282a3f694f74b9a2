import TransferModel

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
    /// The next piece of its content, up to 4 MiB.
    case content([UInt8])
    /// The last part: the content is complete and verified. `TransferClient.settle` takes the value.
    case end(VerifiedDelivery)
}
