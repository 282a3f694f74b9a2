public import TransferKeys
public import TransferModel

/// What a server says of one acknowledged upload: that this content was on stable storage under this path at this time.
/// By itself a claim; `SignedReceipt` has the proof.
public struct Receipt: Hashable, Sendable {
    /// Unique for the server, and larger than those of earlier receipts.
    public let number: UInt64

    /// Chosen by the client.
    public let uploadID: UploadID

    /// Where the content was stored, below the server's directory.
    public let path: RelativePath

    /// What it is.
    public let kind: ContentKind

    /// Bytes of content.
    public let size: UInt64

    /// Computed by the server from what it stored.
    public let digest: Digest

    /// `committed` or `alreadyStored`.
    public let result: ResultCode

    /// Who sent it, as the server saw it: the address of the client's end of the connection.
    public let sender: String

    /// When the receipt was made, by the server's clock.
    public let time: ReceiptTime

    /// Whose receipt it is.
    public let server: ServerKey
}

extension Receipt {
    /// The version of the format.
    static let version: UInt8 = 1

    /// What a receipt can be about.
    static let results: [ResultCode] = [.committed, .alreadyStored]

    /// The canonical text: one JSON object, its members in this order, without spaces. It is the leaf that the server
    /// signs with others, so not a byte of it may ever change.
    package var text: [UInt8] {
        var ending: ReceiptEnding?
        return text(&ending)
    }

    /// The canonical text.
    ///
    /// - Parameter ending: that of the text before this one; used again where it is the same.
    func text(_ ending: inout ReceiptEnding?) -> [UInt8] {
        let own = ending.flatMap { $0.fits(self) ? $0 : nil } ?? ReceiptEnding(self)
        ending = own
        let capacity = Self.fixedSize + ByteWriter.longestJSON(of: path.string) + own.text.count
        return ByteWriter.bytes(capacity: capacity) { text in
            appendBeginning(to: &text)
            text.append(own.text)
        }
    }

    /// Bytes of a text without its path and its ending are fewer than this.
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
