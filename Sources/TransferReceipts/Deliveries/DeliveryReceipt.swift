public import TransferKeys
public import TransferModel

/// A recipient's statement about one delivery: that it has stored this content durably. By itself only a claim;
/// `SignedDeliveryReceipt` has the proof.
public struct DeliveryReceipt: Sendable {
    /// The upload that was delivered.
    public let delivery: UploadID

    /// The recipient's name on the server.
    public let to: String

    /// The sender's name on the server.
    public let from: String

    /// The path that the sender has chosen for the content.
    public let name: RelativePath

    /// The kind of the content.
    public let kind: ContentKind

    /// Size of the content in bytes.
    public let size: UInt64

    /// Digest that the recipient computed of what it has stored.
    public let digest: Digest

    /// Time of the receipt, by the recipient's clock.
    public let time: ReceiptTime

    /// The key of the recipient who has signed.
    public let recipient: PublicKey

    /// The server of the delivery; zeros if it has no key.
    public let server: ServerKey

    /// - Throws: `malformed` for contents that no receipt can have: an empty or too long name or path (see
    ///   `longestName`, `longestPath`), no delivery, no key, a size above any file's, or a digest that does not suit
    ///   the size. Such a delivery is settled without a signature.
    package init(
        delivery: UploadID, to: String, from: String, name: RelativePath, kind: ContentKind, size: UInt64,
        digest: Digest, time: ReceiptTime, recipient: PublicKey, server: ServerKey
    ) throws(ReceiptFault) {
        guard delivery != .none else { throw .malformed("no delivery ID") }
        guard Self.fits(to, Self.longestName) else {
            throw .malformed("no recipient, or a recipient with too long a name")
        }
        guard Self.fits(from, Self.longestName) else { throw .malformed("no sender, or a sender with too long a name") }
        guard Self.fits(name.string, Self.longestPath) else { throw .malformed("too long a name") }
        guard size <= Limits.uploadSize else { throw .malformed("a size larger than any file") }
        guard digest.algorithm == digest.algorithm.function.algorithm(forSize: size) else {
            throw .malformed("no digest for content of this size")
        }
        guard recipient.raw != Bytes32() else { throw .malformed("no recipient's key") }
        (self.delivery, self.to, self.from, self.name, self.kind) = (delivery, to, from, name, kind)
        (self.size, self.digest, self.time) = (size, digest, time)
        (self.recipient, self.server) = (recipient, server)
    }
}

extension DeliveryReceipt {
    /// Version of the receipt's format.
    static let version: UInt8 = 1

    /// Most bytes of a person's name in the text: eight times the limit of access lists, so that everyone in them can
    /// get receipts.
    package static let longestName = 1 << 10

    /// Most bytes of a path in the text. A path without escaped characters always has fewer (`Limits.path`); with the
    /// other fields, a line stays below `SignedDeliveryReceipt.longestLine`.
    package static let longestPath = 4 << 10

    private static func fits(_ text: String, _ most: Int) -> Bool {
        guard !text.isEmpty, text.utf8.count <= most else { return false }
        // Without quotes. Most texts are so short that the upper bound is enough.
        return ByteWriter.longestJSON(of: text) - 2 <= most || JSONValue.string(text).text.utf8.count - 2 <= most
    }

    /// The canonical text: one JSON object with its members in this order and no spaces. It is the leaf that the
    /// recipient signs together with others, so it must never change.
    package var text: [UInt8] {
        let names = [to, from, name.string].reduce(0) { $0 + ByteWriter.longestJSON(of: $1) }
        return ByteWriter.bytes(capacity: Self.fixedSize + names) { text in
            text.append("{\"version\":1,\"delivery\":\"")
            withUnsafeBytes(of: (delivery.high.bigEndian, delivery.low.bigEndian)) { text.append(hexadecimal: $0) }
            text.append("\",\"to\":")
            text.append(jsonString: to)
            text.append(",\"from\":")
            text.append(jsonString: from)
            text.append(",\"name\":")
            text.append(jsonString: name.string)
            text.append(",\"kind\":\"")
            text.append(kind.name)
            text.append("\",\"size\":")
            text.append(decimal: size)
            text.append(",\"digest\":\"")
            text.append(digest.algorithm.name)
            text.append(":")
            text.append(hexadecimal: digest.bytes)
            text.append("\",\"time\":\"")
            text.append(time.description)
            text.append("\",\"recipient\":\"")
            recipient.raw.withUnsafeBytes { text.append(hexadecimal: $0) }
            text.append("\",\"server\":\"")
            server.raw.withUnsafeBytes { text.append(hexadecimal: $0) }
            text.append("\"}")
        }
    }

    /// More bytes than a text has without its names.
    private static let fixedSize = 512
}

extension DeliveryReceipt: Hashable {
    /// Whether both have the same text, byte for byte; equal strings may differ.
    public static func == (a: DeliveryReceipt, b: DeliveryReceipt) -> Bool { a.text == b.text }

    /// Hashes the canonical text, as equality compares it.
    public func hash(into hasher: inout Hasher) {
        hasher.combine(text)
    }
}
