import TransferKeys
import TransferModel
import TransferReceipts

/// Signs a recipient's statements that deliveries are stored durably on the recipient's side.
struct DeliverySigner: Sendable {
    let key: KeyPair

    /// The recipient's name on the server.
    let name: String

    /// The server's key; nil for a server without one.
    let server: ServerKey?

    /// Whether a receipt can be made for the delivery. Its name has to be a path that fits into a receipt, and its digest has to be
    /// collision resistant.
    func canSign(_ delivery: Delivery) -> Bool { receipt(delivery, time: 0) != nil }

    /// - Parameters:
    ///   - deliveries: at most `DeliveryBatch.most`, in the order in which they are reported to the server.
    ///   - time: milliseconds since 1970.
    /// - Returns: one signature over all their receipts; nil if there can be no receipt for one of them.
    func sign(_ deliveries: [VerifiedDelivery], time: Int64) -> [UInt8]? {
        let receipts = deliveries.compactMap { receipt($0.delivery, time: time) }
        guard receipts.count == deliveries.count, (1...DeliveryBatch.most).contains(receipts.count) else { return nil }
        return DeliveryBatch.sign(receipts, with: key)
    }

    private func receipt(_ delivery: Delivery, time: Int64) -> DeliveryReceipt? {
        guard delivery.digest.algorithm.function.isCollisionResistant,
            let path = try? RelativePath(delivery.name)
        else { return nil }
        return try? DeliveryReceipt(
            delivery: delivery.id, to: name, from: delivery.person, name: path, kind: delivery.kind,
            size: delivery.size,
            digest: delivery.digest, time: ReceiptTime(clamping: UInt64(max(0, time))), recipient: key.key,
            server: server ?? ServerKey(Bytes32()))
    }
}
