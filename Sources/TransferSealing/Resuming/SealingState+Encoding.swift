internal import TransferKeys
internal import TransferModel

extension SealingState {
    /// Version of the format, the only one so far; the first byte.
    private static let version: UInt8 = 1

    /// Bytes besides the header: version, binding, size, file key, nonce, length of the header, digest.
    private static let fixedSize =
        1 + Bytes32.count + 8 + FileKey.size + SealedLayout.nonceSize + 4 + Bytes32.count

    /// Most bytes of a state and its file.
    package static let longest = fixedSize + SealedHeader.longest

    /// The whole state, secrets included, with a digest at the end that reveals torn writes.
    package var encoded: [UInt8] {
        get throws(SealingError) {
            var bytes = [Self.version] + binding.bytes
            bytes.append(bigEndian: layout.contentSize)
            bytes += fileKey.secret.withUnsafeBytes { Array($0) }
            bytes += nonce
            bytes.append(bigEndian: UInt32(truncatingIfNeeded: header.bytes.count))
            bytes += header.bytes
            return bytes + (try HashedKeys.digest(of: bytes)).bytes
        }
    }

    /// Reads an `encoded` state, for the same source and recipients.
    ///
    /// - Parameters:
    ///   - source: the present state of the source.
    ///   - recipients: may be in any order.
    /// - Throws: `otherSource` if it belongs to another source; `damaged`, `malformed`, `unsupported` if it is
    ///   unusable. Then a new state is made.
    package init(
        decoding bytes: [UInt8], sealing source: SealingSource, for recipients: [SealingRecipient]
    ) throws(SealingError) {
        guard bytes.count <= Self.longest else { throw .tooLarge("The state of a sealed file is too long.") }
        guard bytes.first == nil || bytes.first == Self.version else {
            throw .unsupported("The state of a sealed file from a later version")
        }
        let content = Array(bytes.dropLast(Bytes32.count))
        guard bytes.count >= Self.fixedSize, let digest = Bytes32(bytes.suffix(Bytes32.count)),
            HashedKeys.isEqual(try HashedKeys.digest(of: content), digest)
        else { throw .damaged }
        var reader = RecordReader(content.dropFirst())
        let binding = try reader.bytes32()
        let size = try reader.number(UInt64.self)
        let fileKey = FileKey(secret: SecretBytes(try reader.bytes(FileKey.size)))
        let nonce = Array(try reader.bytes(SealedLayout.nonceSize))
        let header = try Self.header(try reader.bytes(Int(try reader.number(UInt32.self))))
        try reader.finish()
        guard HashedKeys.isEqual(binding, try source.binding(recipients)), size == source.size else {
            throw .otherSource
        }
        guard try header.isVouchedFor(by: fileKey) else { throw .damaged }
        try self.init(header, fileKey, nonce, size: size, binding: binding)
    }

    private static func header(_ bytes: ArraySlice<UInt8>) throws(SealingError) -> SealedHeader {
        var scanner = HeaderScanner()
        var consumed = 0
        let header = try scanner.scan(bytes.span.bytes, consumed: &consumed)
        guard let header, consumed == bytes.count else { throw .damaged }
        return header
    }
}
