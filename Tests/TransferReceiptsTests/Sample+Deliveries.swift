import TransferKeys
import TransferModel

@testable import TransferReceipts

extension Sample {
    /// Bob's key pair: the second in section 7.1 of RFC 8032.
    static let recipient = KeyPair(
        secret: bytes("4ccd089b28ff96da9db6c346ec114e0f5b8a319f35aba624da8cf6ed4fb8a6fb"))

    /// Bob's receipt for a picture that Alice has sent.
    static func delivery(
        id: UploadID = upload(1).uploadID, to: String = "bob", from: String = "alice", name: String = "photo.png",
        kind: ContentKind = .picture, size: UInt64 = 5,
        digest: Digest = Digest(.xxh128, [UInt8](repeating: 1, count: 16)), time: UInt64 = 1_767_225_600_500,
        recipient: PublicKey = recipient.key, server: ServerKey? = key
    ) throws -> DeliveryReceipt {
        try DeliveryReceipt(
            delivery: id, to: to, from: from, name: RelativePath(name), kind: kind, size: size, digest: digest,
            time: ReceiptTime(clamping: time), recipient: recipient, server: server ?? ServerKey(Bytes32()))
    }

    /// `count` receipts for different uploads.
    static func deliveries(_ count: Int) throws -> [DeliveryReceipt] {
        try (1...count).map { number in
            try delivery(id: upload(number).uploadID, name: "photos/\(number).png", size: UInt64(number))
        }
    }

    /// `count` receipts for different uploads, signed by Bob.
    static func signedDeliveries(_ count: Int) throws -> [SignedDeliveryReceipt] {
        let receipts = try deliveries(count)
        return DeliveryBatch.signed(receipts, signature: DeliveryBatch.sign(receipts, with: recipient)) ?? []
    }
}
