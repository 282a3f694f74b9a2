import TransferModel

/// What is known of the sender of content that travelled sealed.
public enum DeliverySeal: Sendable {
    /// It was opened, and it is what the sender has signed.
    case signed
    /// It was opened, and nobody has signed it: who sends it is what the server says.
    case unsigned
    /// It is here as it came, and nobody has looked whether it is what a note says.
    case unopened
}

/// A delivery whose content this client has had, all of it. Size and digest were computed here, and are those that the server
/// lists.
///
/// Nothing else is settled as delivered, and a receipt is signed for nothing else: there is no way to make one of the content of
/// one delivery and of what the server says of another.
public struct VerifiedDelivery: Sendable {
    /// As it was listed.
    public let delivery: Delivery

    /// Nil for content that did not travel sealed.
    public let seal: DeliverySeal?

    /// - Parameters:
    ///   - computed: of what came, computed here.
    ///   - isOpened: whether what came was opened; what has a note is only then what the note says.
    /// - Returns: nil when something else came than what is listed.
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

/// Some of what is read of a delivery.
public enum DeliveryPart: Sendable {
    /// The next piece of its content, up to 4 MiB.
    case content([UInt8])
    /// All of it was there: what `TransferClient.settle` takes. The last part.
    case end(VerifiedDelivery)
}
