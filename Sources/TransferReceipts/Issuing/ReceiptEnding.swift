import TransferKeys
import TransferModel

/// The ending of a receipt's text. It is the same in a whole batch, so that it is written only once.
struct ReceiptEnding {
    private let sender: String
    private let time: ReceiptTime
    private let server: ServerKey

    /// The text from the comma before the sender on.
    let text: [UInt8]

    init(_ receipt: Receipt) {
        sender = receipt.sender
        time = receipt.time
        server = receipt.server
        // The fixed part takes 121 bytes.
        text = ByteWriter.bytes(capacity: 121 + ByteWriter.longestJSON(of: receipt.sender)) { text in
            text.append(",\"sender\":")
            text.append(jsonString: receipt.sender)
            text.append(",\"time\":\"")
            text.append(receipt.time.description)
            text.append("\",\"server\":\"")
            receipt.server.raw.withUnsafeBytes { text.append(hexadecimal: $0) }
            text.append("\"}")
        }
    }

    /// Whether the receipt's text has this ending.
    func fits(_ receipt: Receipt) -> Bool {
        time == receipt.time && server == receipt.server && sender.hasSameBytes(as: receipt.sender)
    }
}
