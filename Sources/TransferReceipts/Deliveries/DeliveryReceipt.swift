public import TransferKeys
public import TransferModel

/// What a recipient says of one delivery: that this content is on stable storage where it keeps it. By itself a claim;
/// `SignedDeliveryReceipt` has the proof.
public struct DeliveryReceipt: Sendable {
    /// The upload that was delivered.
    public let delivery: UploadID

    /// The recipient's name on the server.
    public let to: String

    /// The sender's name on the server.
    public let from: String

    /// What the sender calls the content.
    public let name: RelativePath

    /// What it is.
    public let kind: ContentKind

    /// Bytes of content.
    public let size: UInt64

    /// Computed by the recipient from what it keeps.
    public let digest: Digest

    /// When the receipt was made, by the recipient's clock.
    public let time: ReceiptTime

    /// Whose receipt it is.
    public let recipient: PublicKey

    /// The server that the delivery came through; zeros for one without a key.
    public let server: ServerKey

    /// - Throws: `malformed` for what no receipt can say: a name or a path that is empty or takes too much room (see
    ///   `longestName`, `longestPath`), no delivery, no key, more content than a file can have, or a digest that is not one of
    ///   content of this size. Such a delivery is settled without a signature.
    package init(
        delivery: UploadID, to: String, from: String, name: RelativePath, kind: ContentKind, size: UInt64,
        digest: Digest, time: ReceiptTime, recipient: PublicKey, server: ServerKey
    ) throws(ReceiptFault) {
        guard delivery != .none else { throw .malformed("no delivery") }
        guard Self.fits(to, Self.longestName) else { throw .malformed("no recipient, or one with too long a name") }
        guard Self.fits(from, Self.longestName) else { throw .malformed("no sender, or one with too long a name") }
        guard Self.fits(name.string, Self.longestPath) else { throw .malformed("too long a name") }
        guard size <= Limits.uploadSize else { throw .malformed("more content than a file can have") }
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
    /// The version of the format.
    static let version: UInt8 = 1

    /// Bytes of a person's name at most, as it stands in the text: eight times what the access lists take, so that nobody who
    /// is in them goes without receipts.
    package static let longestName = 1 << 10

    /// Bytes of a path at most, as it stands in the text. Every path with nothing in it that is escaped has fewer
    /// (`Limits.path`); with the rest, a line stays below `SignedDeliveryReceipt.longestLine`.
    package static let longestPath = 4 << 10

    private static func fits(_ text: String, _ most: Int) -> Bool {
        guard !text.isEmpty, text.utf8.count <= most else { return false }
        // Without the quotes. Most are so short that they need not be written to see it.
        return ByteWriter.longestJSON(of: text) - 2 <= most || JSONValue.string(text).text.utf8.count - 2 <= most
    }

    /// The canonical text: one JSON object, its members in this order, without spaces. It is the leaf that the recipient
    /// signs with others, so not a byte of it may ever change.
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

    /// Bytes of a text without its names are fewer than this.
    private static let fixedSize = 512
}

extension DeliveryReceipt: Hashable {
    /// Whether they say the same, byte for byte: equal strings need not be.
    public static func == (a: DeliveryReceipt, b: DeliveryReceipt) -> Bool { a.text == b.text }

    /// Of the text.
    public func hash(into hasher: inout Hasher) {
        hasher.combine(text)
    }
}
