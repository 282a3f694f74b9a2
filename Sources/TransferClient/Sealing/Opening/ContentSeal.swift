import TransferModel
import TransferSealing

/// What is needed to open a delivery's content.
struct ContentSeal: Sendable {
    let key: SealingKey

    /// Describes the content that must result from opening. Nil for a delivery without a note whose name has the suffix
    /// of age files; such a delivery is opened if possible.
    let note: DeliveryNote?

    /// The suffix of names of files in the age format.
    static let suffix = ".age"

    /// - Returns: nil if the delivery is stored as it arrives.
    init?(_ delivery: Delivery, _ identity: SealingIdentity?) {
        guard let identity else { return nil }
        (key, note) = (identity.sealing, delivery.opened)
        guard delivery.isSealed ? note != nil : delivery.isCalledSealed else { return nil }
    }

    /// The least bytes of content that a sealed file can have.
    ///
    /// - Parameter size: size of the sealed file in bytes.
    static func leastContent(_ size: UInt64) -> UInt64 {
        let layout = try? SealedLayout(sealedSize: size, headerSize: SealedHeader.longest)
        return layout?.contentSize ?? 0
    }

    /// The name without the suffix.
    ///
    /// - Returns: nil if the name does not have the suffix, or is nothing but the suffix.
    static func unsealedName(_ name: String) -> String? {
        let bytes = name.utf8
        guard bytes.count > suffix.utf8.count, bytes.suffix(suffix.utf8.count).elementsEqual(suffix.utf8) else {
            return nil
        }
        let rest = bytes.dropLast(suffix.utf8.count)
        return rest.last == UInt8(ascii: "/") ? nil : String(Substring(rest))
    }
}
