import TransferKeys
import TransferModel
import TransferReceipts

/// Signs in the name of a recipient that deliveries are durable where it keeps them.
struct DeliverySigner: Sendable {
    let key: KeyPair

    /// The recipient's name on the server.
    let name: String

    /// The server's; nothing for one without.
    let server: ServerKey?

    /// Whether a receipt can be made for the delivery. Its name has to be a path that fits into a receipt, and its digest has to be
    /// collision resistant.
    func canSign(_ delivery: Delivery) -> Bool { receipt(delivery, time: 0) != nil }

    /// - Parameters:
    ///   - deliveries: up to `DeliveryBatch.most`, in the order in which the server is told of them.
    ///   - time: milliseconds since 1970.
    /// - Returns: one signature over the receipts of all of them; nothing when one of them can have none.
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
