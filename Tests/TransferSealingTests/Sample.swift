import Testing
import TransferKeys
import TransferModel
import TransferTestSupport

@testable import TransferSealing

/// Keys, contents and sealed files for many tests.
enum Sample {
    /// The key of the examples in the age format: 32 bytes of the value 0x42.
    static let secretText = "AGE-SECRET-KEY-1GFPYYSJZGFPYYSJZGFPYYSJZGFPYYSJZGFPYYSJZGFPYYSJZGFPQ4EGAEX"
    static let recipientText = "age1zvkyg2lqzraa2lnjvqej32nkuu0ues2s82hzrye869xeexvn73equnujwj"

    static func key(_ value: UInt8 = 0x42) throws -> SealingKey {
        try SealingKey(SecretBytes([UInt8](repeating: value, count: 32)))
    }

    static func identity(_ value: UInt8 = 1) throws -> KeyPair {
        KeyPair(secret: try #require(Bytes32([UInt8](repeating: value, count: 32))))
    }

    static func fileKey(_ value: UInt8 = 7) -> FileKey {
        FileKey(secret: SecretBytes([UInt8](repeating: value, count: FileKey.size)))
    }

    static func bytes32(_ hexadecimal: String) throws -> Bytes32 {
        try #require([UInt8](hexadecimal: hexadecimal).flatMap { Bytes32($0) })
    }

    static func content(_ count: Int) -> [UInt8] { SplitMix64.bytes(seed: UInt64(count), count) }

    static func source(_ content: [UInt8], _ context: String = "dev 1 inode 2 mtime 3") -> SealingSource {
        SealingSource(size: UInt64(content.count), context: Array(context.utf8))
    }

    /// Seals all bytes at once.
    static func sealed(_ content: [UInt8], for recipients: [SealingRecipient]) throws -> [UInt8] {
        let sealer = try Sealer(streamFor: recipients)
        var output: [UInt8] = []
        try sealer.seal(all: content, into: &output)
        try sealer.finish(into: &output)
        return output
    }

    static func sealed(_ content: [UInt8]) throws -> [UInt8] { try sealed(content, for: [key().recipient]) }

    /// - Parameter cut: number of bytes per call; all bytes by default.
    static func opened(_ bytes: [UInt8], _ keys: [SealingKey], cut: Int = .max) throws(SealingError) -> [UInt8] {
        let opener = Opener(keys)
        var output: [UInt8] = []
        var rest = bytes[...]
        while !rest.isEmpty {
            let piece = rest.prefix(cut)
            try opener.open(all: piece, into: &output)
            rest = rest.dropFirst(piece.count)
        }
        try opener.finish(into: &output)
        return output
    }

    static func opened(_ bytes: [UInt8], cut: Int = .max) throws(SealingError) -> [UInt8] {
        try opened(bytes, [SealingKey(SecretBytes([UInt8](repeating: 0x42, count: 32)))], cut: cut)
    }

    /// Size of the header of a sealed file.
    static func headerSize(_ bytes: [UInt8]) throws -> Int {
        var consumed = 0
        var scanner = HeaderScanner()
        _ = try #require(try scanner.scan(bytes.span.bytes, consumed: &consumed))
        return consumed
    }

    /// A file with any lines as its header, and the right code behind them.
    static func file(_ stanzas: String, _ content: [UInt8] = [1, 2, 3], _ fileKey: FileKey = fileKey()) throws
        -> [UInt8]
    {
        let text = Array("age-encryption.org/v1\n\(stanzas)---".utf8)
        let code = UnpaddedBase64.encode(try fileKey.code(ofHeader: text).bytes)
        return text + Array(" \(code)\n".utf8) + (try payload(content, fileKey))
    }

    /// The nonce, and chunks of the content.
    static func payload(_ content: [UInt8], _ fileKey: FileKey = fileKey()) throws -> [UInt8] {
        let nonce = [UInt8](repeating: 9, count: SealedLayout.nonceSize)
        let size = SealedLayout.chunkSize
        let starts = Array(stride(from: 0, to: max(1, content.count), by: size))
        let chunks = starts.map { Array(content[$0..<min(content.count, $0 + size)]) }
        return try nonce
            + chunks.enumerated().flatMap { try chunk($1, $0, isLast: $0 == chunks.count - 1, fileKey) }
    }

    /// One chunk, sealed with the nonce of `payload`.
    static func chunk(
        _ content: [UInt8], _ number: Int, isLast: Bool, _ fileKey: FileKey = fileKey()
    ) throws -> [UInt8] {
        let key = try fileKey.payloadKey([UInt8](repeating: 9, count: SealedLayout.nonceSize))
        let cipher = try ChunkCipher(.sealing, key: key)
        var sealed = [UInt8](repeating: 0, count: content.count + ChunkCipher.tagSize)
        let nonce = ChunkNonce(chunk: UInt64(number), isLast: isLast)
        try sealed.withUnsafeMutableBytes { sealed in
            try content.withUnsafeBytes { try cipher.seal($0, nonce, into: sealed) }
        }
        return sealed
    }

    /// A stanza for the key of this sample.
    static func stanza(_ fileKey: FileKey = fileKey(), ephemeral: UInt8 = 3) throws -> HeaderStanza {
        try WrappedFileKey(fileKey, for: key().recipient, ephemeral: key(ephemeral)).stanza
    }
}

extension Sealer {
    func seal(all bytes: some Collection<UInt8>, into output: inout [UInt8]) throws(SealingError) {
        let bytes = Array(bytes)
        try seal(bytes.span.bytes, into: &output)
    }
}

extension Opener {
    func open(all bytes: some Collection<UInt8>, into output: inout [UInt8]) throws(SealingError) {
        let bytes = Array(bytes)
        try open(bytes.span.bytes, into: &output)
    }
}
