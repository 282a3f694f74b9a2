/// A line of a receipts file, of either kind.
package enum KeptReceipt: Sendable {
    /// A server's receipt of an upload.
    case upload(SignedReceipt)
    /// A recipient's receipt of a delivery.
    case delivery(SignedDeliveryReceipt)

    /// Most bytes of a line of any kind.
    package static let longestLine = max(SignedReceipt.longestLine, SignedDeliveryReceipt.longestLine)

    private static let delivery: StaticString = "{\"receipt\":{\"version\":1,\"delivery\":"

    /// Reads a line in its only canonical form. Verifies nothing.
    ///
    /// - Throws: `malformed` or `unknownVersion`.
    package init(json line: [UInt8]) throws(ReceiptFault) {
        let isDelivery = Self.delivery.withUTF8Buffer { line.starts(with: $0) }
        self = isDelivery ? .delivery(try SignedDeliveryReceipt(json: line)) : .upload(try SignedReceipt(json: line))
    }
}
