/// A line of a file of receipts, of either kind.
package enum KeptReceipt: Sendable {
    /// A server's, of an upload.
    case upload(SignedReceipt)
    /// A recipient's, of a delivery.
    case delivery(SignedDeliveryReceipt)

    /// Bytes of the longest line of any kind.
    package static let longestLine = max(SignedReceipt.longestLine, SignedDeliveryReceipt.longestLine)

    private static let delivery: StaticString = "{\"receipt\":{\"version\":1,\"delivery\":"

    /// Reads a line in its one canonical form. Nothing is verified.
    ///
    /// - Throws: `malformed` or `unknownVersion`.
    package init(json line: [UInt8]) throws(ReceiptFault) {
        let isDelivery = Self.delivery.withUTF8Buffer { line.starts(with: $0) }
        self = isDelivery ? .delivery(try SignedDeliveryReceipt(json: line)) : .upload(try SignedReceipt(json: line))
    }
}
