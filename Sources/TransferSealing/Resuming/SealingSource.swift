package import TransferKeys
internal import TransferModel

/// What is sealed, told from what it is after any change: so that no secret is used for two contents.
package struct SealingSource: Equatable, Sendable {
    /// Bytes of content.
    package let size: UInt64

    private let context: [UInt8]

    /// - Parameters:
    ///   - size: bytes that will be read; no others are sealed.
    ///   - context: bytes that change whenever the content may have: at least device and inode of the file and its times of
    ///     modification and of change, in nanoseconds; its digest too, where that is known. Kept only as a digest.
    package init(size: UInt64, context: [UInt8]) {
        (self.size, self.context) = (size, context)
    }

    private static let domain = Array("transfer sealing source v1\n".utf8)

    /// What is compared: of the source and of whom it is sealed for, in any order. It gives away neither.
    package func binding(_ recipients: [SealingRecipient]) throws(SealingError) -> Bytes32 {
        var bytes = Self.domain
        bytes.append(bigEndian: size)
        bytes.append(bigEndian: UInt64(context.count))
        bytes += context
        for key in recipients.map(\.raw.bytes).sorted(by: { $0.lexicographicallyPrecedes($1) }) { bytes += key }
        return try HashedKeys.digest(of: bytes)
    }
}
