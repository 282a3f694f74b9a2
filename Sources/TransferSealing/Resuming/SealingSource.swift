package import TransferKeys
internal import TransferModel

/// Identifies the content to seal, and its changes, so that no secret is used for two contents.
package struct SealingSource: Equatable, Sendable {
    /// Size of the content in bytes.
    package let size: UInt64

    private let context: [UInt8]

    /// - Parameters:
    ///   - size: bytes that will be read; no others are sealed.
    ///   - context: bytes that change whenever the content may have changed: at least device and inode of the file and
    ///     its times of modification and of change, in nanoseconds, and its digest if that is known. Only a digest of
    ///     them is stored.
    package init(size: UInt64, context: [UInt8]) {
        (self.size, self.context) = (size, context)
    }

    private static let domain = Array("transfer sealing source v1\n".utf8)

    /// A digest of the source and its recipients in any order, by which states are compared. It reveals neither.
    package func binding(_ recipients: [SealingRecipient]) throws(SealingError) -> Bytes32 {
        var bytes = Self.domain
        bytes.append(bigEndian: size)
        bytes.append(bigEndian: UInt64(context.count))
        bytes += context
        for key in recipients.map(\.raw.bytes).sorted(by: { $0.lexicographicallyPrecedes($1) }) { bytes += key }
        return try HashedKeys.digest(of: bytes)
    }
}
