import TransferKeys
import TransferModel

/// The subject of receipts. Each is signed under its own title, so that none passes for another.
enum ReceiptSubject {
    /// Uploads that a server has stored.
    case uploads
    /// Deliveries that a recipient has stored.
    case deliveries

    /// The first line of the signed message, with its end. Never changes.
    fileprivate var title: StaticString {
        switch self {
        case .uploads: "transfer receipts 1\n"
        case .deliveries: "transfer deliveries 1\n"
        }
    }
}

/// The size and the root of a tree of receipts.
struct TreeHead {
    let size: UInt32
    let root: Bytes32

    /// The message that is signed: three lines, with a beginning that no other message signed with this key has.
    func message(_ subject: ReceiptSubject) -> [UInt8] {
        // A title has up to 22 bytes, a number ten digits, a hash 64.
        ByteWriter.bytes(capacity: 128) { message in
            message.append(subject.title)
            message.append(decimal: UInt64(size))
            message.append("\n")
            root.withUnsafeBytes { message.append(hexadecimal: $0) }
            message.append("\n")
        }
    }
}
