/// The common part of receipts for uploads that were acknowledged together, and their one signature. With the
/// acknowledgements in order, anyone can make each receipt from it.
package struct SignedBatch: Equatable, Sendable {
    /// Version of the receipts' format. Only `receiptVersion` is known.
    package var version: UInt8

    /// Number of the first receipt; the others count up from it.
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
