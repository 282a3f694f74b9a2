import TransferModel
import TransferSealing

/// What opens the content of a delivery.
struct ContentSeal: Sendable {
    let key: SealingKey

    /// What the content has to be. Nothing for what came without a note and is called as files of the age format are: that is
    /// opened if it can be.
    let note: DeliveryNote?

    /// What the names of files of the age format end with.
    static let suffix = ".age"

    /// - Returns: nothing for what is stored as it comes.
    init?(_ delivery: Delivery, _ identity: SealingIdentity?) {
        guard let identity else { return nil }
        (key, note) = (identity.sealing, delivery.opened)
        guard delivery.isSealed ? note != nil : delivery.isCalledSealed else { return nil }
    }

    /// Bytes of content that a file has at least.
    ///
    /// - Parameter size: of the sealed file.
    static func leastContent(_ size: UInt64) -> UInt64 {
        let layout = try? SealedLayout(sealedSize: size, headerSize: SealedHeader.longest)
        return layout?.contentSize ?? 0
    }

    /// A name without the suffix.
    ///
    /// - Returns: nothing for a name that hasn't it, and for one that is nothing else.
    static func unsealedName(_ name: String) -> String? {
        let bytes = name.utf8
        guard bytes.count > suffix.utf8.count, bytes.suffix(suffix.utf8.count).elementsEqual(suffix.utf8) else {
            return nil
        }
        let rest = bytes.dropLast(suffix.utf8.count)
        return rest.last == UInt8(ascii: "/") ? nil : String(Substring(rest))
    }
}
