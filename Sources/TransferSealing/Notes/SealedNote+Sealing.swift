internal import TransferKeys
internal import TransferModel

extension SealedNote {
    /// Notes are padded to a multiple of this many bytes: paths of up to 325 bytes do not change the length.
    package static let block = 512

    /// Most bytes of an unsealed note: with the longest path (`Limits.path`), in whole blocks.
    static let longestContent = (fixedSize + Limits.path + block - 1) / block * block

    /// Bytes besides the path: version, kind, presence, size, time, permissions, digest, tag, sender, length of the
    /// path, signature.
    private static let fixedSize =
        1 + 1 + 1 + 8 + 12 + 2 + Bytes32.count + Bytes32.count + Bytes32.count + 2 + PublicKey.signatureSize

    /// Most bytes of a sealed note.
    package static let longest =
        SealedHeader.longest + SealedLayout.nonceSize + longestContent + ChunkCipher.tagSize

    /// Seals the note as an age file with new secrets, so that each call returns another one.
    package func sealed(for recipients: [SealingRecipient]) throws(SealingError) -> [UInt8] {
        var content = fields + signature
        let over = content.count % Self.block
        content += [UInt8](repeating: 0, count: over == 0 ? 0 : Self.block - over)
        var output: [UInt8] = []
        let sealer = try Sealer(streamFor: recipients)
        try sealer.seal(content.span.bytes, into: &output)
        try sealer.finish(into: &output)
        return output
    }

    /// Opens and verifies a sealed note.
    ///
    /// - Parameter keys: keys of the recipient; all are tried.
    /// - Throws: errors of `Opener`, and `wrongSigner`. The caller must compare the sender with the server's statement,
    ///   and the tag with that of the content.
    package init(opening bytes: [UInt8], with keys: [SealingKey]) throws(SealingError) {
        guard bytes.count <= Self.longest else { throw .tooLarge("The note is longer than \(Self.longest) bytes.") }
        var content: [UInt8] = []
        let opener = Opener(keys, atMost: UInt64(Self.longestContent))
        try opener.open(bytes.span.bytes, into: &content)
        try opener.finish(into: &content)
        try self.init(content)
    }

    private init(_ content: [UInt8]) throws(SealingError) {
        guard content.count.isMultiple(of: Self.block) else { throw .malformed("The note is not padded.") }
        var reader = RecordReader(content)
        switch try reader.number(UInt8.self) {
        case Self.version: break
        case ..<Self.version:
            throw .unsupported(
                "A note of an earlier version of Transfer, which does not name the content that it describes,")
        default: throw .unsupported("A note of a later version of Transfer")
        }
        guard let kind = ContentKind(rawValue: try reader.number()) else {
            throw .malformed("The note has an unknown kind of content.")
        }
        let (size, modified, permissions) = try Self.details(&reader)
        let algorithm = Self.digestFunction.algorithm(forSize: size)
        let content = Content(size: size, digest: Digest(algorithm, try reader.bytes32().bytes))
        let tag = SealedTag(try reader.bytes32())
        let sender = PublicKey(try reader.bytes32())
        let path = try Self.path(try reader.bytes(Int(try reader.number(UInt16.self))))
        let signature = Array(try reader.bytes(PublicKey.signatureSize))
        let padding = reader.remainder()
        guard padding.count < Self.block, padding.allSatisfy({ $0 == 0 }) else {
            throw .malformed("The note has data after its last field.")
        }
        try self.init(
            path, kind, content, modified: modified, permissions: permissions, of: tag, by: sender, signature)
    }

    /// Reads the optional fields. Each has only one encoding, so that a note has one form.
    private static func details(
        _ reader: inout RecordReader
    ) throws(SealingError) -> (size: UInt64, modified: Timestamp?, permissions: UInt16?) {
        let presence = Presence(rawValue: try reader.number())
        let size = try reader.number(UInt64.self)
        let seconds = Int64(bitPattern: try reader.number(UInt64.self))
        let modified = Timestamp(seconds: seconds, nanoseconds: try reader.number())
        let permissions = try reader.number(UInt16.self)
        guard presence.isSubset(of: .all), size <= Limits.uploadSize,
            presence.contains(.modified) || modified == Timestamp(seconds: 0, nanoseconds: 0),
            presence.contains(.permissions) || permissions == 0, isTime(modified), permissions <= mostPermissions
        else { throw .malformed("The note has an impossible size, time or permissions of the content.") }
        return (
            size, presence.contains(.modified) ? modified : nil,
            presence.contains(.permissions) ? permissions : nil
        )
    }

    private static func path(_ bytes: ArraySlice<UInt8>) throws(SealingError) -> RelativePath {
        guard let text = String(validating: bytes, as: UTF8.self) else { throw .malformed("The path is not UTF-8.") }
        do throws(RelativePath.Fault) {
            return try RelativePath(text)
        } catch {
            throw .malformed(error.message)
        }
    }
}
