public import TransferKeys
public import TransferModel

/// A server's statement about one acknowledged upload: that this content was stored durably under this path at this
/// time. By itself only a claim; `SignedReceipt` has the proof.
public struct Receipt: Hashable, Sendable {
    /// Number of the receipt, unique for the server and larger than those of earlier receipts.
    public let number: UInt64

    /// ID that the client has chosen.
    public let uploadID: UploadID

    /// Path of the content below the server's directory.
    public let path: RelativePath

    /// The kind of the content.
    public let kind: ContentKind

    /// Size of the content in bytes.
    public let size: UInt64

    /// Digest that the server computed of what it has stored.
    public let digest: Digest

    /// The result, `committed` or `alreadyStored`.
    public let result: ResultCode

    /// The sender as the server identified it: the address of the client's end of the connection.
    public let sender: String

    /// Time of the receipt, by the server's clock.
    public let time: ReceiptTime

    /// The key of the server that has signed.
    public let server: ServerKey
}

extension Receipt {
    /// Version of the receipt's format.
    static let version: UInt8 = 1

    /// The results for which receipts exist.
    static let results: [ResultCode] = [.committed, .alreadyStored]

    /// The canonical text: one JSON object with its members in this order and no spaces. It is the leaf that the server
    /// signs together with others, so it must never change.
    package var text: [UInt8] {
        var ending: ReceiptEnding?
        return text(&ending)
    }

    /// Writes the canonical text.
    ///
    /// - Parameter ending: ending of the previous text, which is reused if it is the same.
    func text(_ ending: inout ReceiptEnding?) -> [UInt8] {
        let own = ending.flatMap { $0.fits(self) ? $0 : nil } ?? ReceiptEnding(self)
        ending = own
        let capacity = Self.fixedSize + ByteWriter.longestJSON(of: path.string) + own.text.count
        return ByteWriter.bytes(capacity: capacity) { text in
            appendBeginning(to: &text)
            text.append(own.text)
        }
    }

    /// More bytes than a text has without its path and its ending.
    private static let fixedSize = 384

    private func appendBeginning(to text: inout ByteWriter) {
        text.append("{\"version\":1,\"number\":")
        text.append(decimal: number)
        text.append(",\"uploadID\":\"")
        withUnsafeBytes(of: (uploadID.high.bigEndian, uploadID.low.bigEndian)) { text.append(hexadecimal: $0) }
        text.append("\",\"path\":")
        text.append(jsonString: path.string)
        text.append(",\"kind\":\"")
        text.append(kind.name)
        text.append("\",\"size\":")
        text.append(decimal: size)
        text.append(",\"digest\":\"")
        text.append(digest.algorithm.name)
        text.append(":")
        text.append(hexadecimal: digest.bytes)
        text.append("\",\"result\":\"")
        text.append(result == .committed ? "committed" as StaticString : "alreadyStored")
        text.append("\"")
    }
}
