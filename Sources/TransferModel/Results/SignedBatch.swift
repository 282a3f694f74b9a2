/// The part that receipts for uploads that were acknowledged together have in common, and their one signature. From it
/// and the acknowledgements in order, anyone can make each receipt.
package struct SignedBatch: Equatable, Sendable {
    /// Version of the receipts' format. This program knows only `receiptVersion`.
    package var version: UInt8

    /// Number of the first receipt. The other receipts have the numbers that follow.
    package var number: UInt64

    /// Time of the receipts in milliseconds since 1970.
    package var time: UInt64

    /// Number of receipts, at least one.
    package var count: Int

    /// Signature over the root of their tree, `signatureSize` bytes.
    package var signature: [UInt8]

    /// The sender of the uploads as the server identified it; up to `Limits.sender` bytes.
    package var sender: String

    /// The version of receipts that this program writes.
    package static let receiptVersion: UInt8 = 1

    /// Bytes of a signature: Ed25519 (RFC 8032, section 5.1.6).
    package static let signatureSize = 64

    package init(
        version: UInt8 = receiptVersion, number: UInt64, time: UInt64, count: Int, signature: [UInt8], sender: String
    ) {
        self.version = version
        self.number = number
        self.time = time
        self.count = count
        self.signature = signature
        self.sender = sender
    }
}
