/// What the receipts of uploads that were acknowledged together have in common, and the one signature over all of them.
/// Whoever knows what was acknowledged, in order, can make each of these receipts again.
package struct SignedBatch: Equatable, Sendable {
    /// Of the receipts' format. Only `receiptVersion` is known.
    package var version: UInt8

    /// Of the first receipt; the others count up from there.
    package var number: UInt64

    /// When they were made: milliseconds since 1970.
    package var time: UInt64

    /// How many they are, at least one.
    package var count: Int

    /// Over the root of their tree, `signatureSize` bytes.
    package var signature: [UInt8]

    /// Who sent the uploads, as the server saw it; up to `Limits.sender` bytes.
    package var sender: String

    /// The version of receipts that is written here.
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
