import TransferKeys
package import TransferModel

/// States that a sealed file has arrived. It contains no secret.
package struct SealingRecord: Equatable, Sendable {
    /// Binding of the source and the recipients.
    let binding: Bytes32

    package let id: UploadID

    /// Bytes of content; `sealedSize` counts the sealed bytes.
    let size: UInt64
    let sealedSize: UInt64

    let kind: ContentKind

    /// The format's version, in the first byte.
    private static let version: UInt8 = 1

    /// Bytes of an encoded record: version, kind, binding, ID, both sizes.
    static let size = 1 + 1 + Bytes32.count + 16 + 8 + 8

    init(binding: Bytes32, id: UploadID, size: UInt64, sealedSize: UInt64, kind: ContentKind) {
        (self.binding, self.id, self.size, self.sealedSize, self.kind) = (binding, id, size, sealedSize, kind)
    }

    package var encoded: [UInt8] {
        var bytes = [Self.version, kind.rawValue] + binding.bytes
        id.encode(into: &bytes)
        bytes.append(bigEndian: size)
        bytes.append(bigEndian: sealedSize)
        return bytes
    }

    /// - Returns: nil for bytes that `encoded` does not make.
    package init?(_ bytes: [UInt8]) {
        let sizes = 2 + Bytes32.count + 16
        guard bytes.count == Self.size, bytes[0] == Self.version, let kind = ContentKind(rawValue: bytes[1]),
            let binding = Bytes32(bytes[2..<2 + Bytes32.count])
        else { return nil }
        (self.kind, self.binding) = (kind, binding)
        let span = bytes.span.bytes
        id = UploadID(span, at: 2 + Bytes32.count)
        size = span.bigEndian(at: sizes, as: UInt64.self)
        sealedSize = span.bigEndian(at: sizes + 8, as: UInt64.self)
        guard id != .none else { return nil }
    }
}
