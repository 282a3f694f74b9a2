/// Decodes receipts that come one after the other. Those of one batch have much of their text in common, which is written
/// only once.
///
/// It belongs to one task at a time.
package final class ReceiptDecoder {
    private var ending: ReceiptEnding?

    package init() {}

    /// Reads what `SignedReceipt.encoded` is and nothing else. Nothing is verified.
    package func decode(_ bytes: [UInt8]) throws(ReceiptFault) -> SignedReceipt {
        try SignedReceipt(decoding: bytes, &ending)
    }
}
