import Testing
import TransferKeys

@testable import TransferSealing

@Suite struct WrappedFileKeyTests {
    private static let share = UnpaddedBase64.encode([UInt8](repeating: 9, count: 32))
    private static let body = UnpaddedBase64.encode([UInt8](repeating: 1, count: 32))

    @Test func comesBack() throws {
        let stanza = try Sample.stanza()
        #expect(stanza.arguments == ["X25519", UnpaddedBase64.encode(try Sample.key(3).recipient.raw.bytes)])
        let wrapped = try #require(try WrappedFileKey(stanza))
        #expect(wrapped.stanza == stanza)
        #expect(try wrapped.unwrapped(Sample.key())?.secret.hasSameBytes(as: Sample.fileKey().secret) == true)
        #expect(try wrapped.unwrapped(Sample.key(1)) == nil)
    }

    /// The whole file is refused, even if another stanza would open it.
    @Test(arguments: [
        "-> X25519\n\(body)\n", "-> X25519 \(share) a\n\(body)\n", "-> X25519 \(share.dropLast())\n\(body)\n",
        "-> X25519 \(share)A\n\(body)\n", "-> X25519 \(share)=\n\(body)\n", "-> X25519 \(share.dropLast())l\n\(body)\n",
        "-> X25519 \(share)\n\n", "-> X25519 \(share)\n\(body.dropLast(3))\n", "-> X25519 \(share)\n\(body)AAA\n",
        "-> X25519 \(UnpaddedBase64.encode([UInt8](repeating: 9, count: 33)))\n\(body)\n",
    ]) func badOnesAreRefused(_ stanza: String) throws {
        let mine = try Sample.stanza().text
        for stanzas in [stanza, stanza + mine, mine + stanza] {
            #expect(throws: SealingError.self) { try Sample.opened(Sample.file(stanzas)) }
        }
    }

    /// A file key of another length, although all its codes are right.
    @Test(arguments: [15, 17, 32]) func fileKeysHaveOneLength(_ count: Int) throws {
        let long = FileKey(secret: SecretBytes([UInt8](repeating: 7, count: count)))
        let key = try Sample.key(3)
        let agreed = try key.agree(with: Sample.key().recipient.raw)
        let wrapKey = try HashedKeys.derive(
            from: agreed, salt: key.recipient.raw.bytes + Sample.key().recipient.raw.bytes,
            info: "age-encryption.org/v1/X25519")
        var body = [UInt8](repeating: 0, count: count + ChunkCipher.tagSize)
        let cipher = try ChunkCipher(.sealing, key: wrapKey)
        try body.withUnsafeMutableBytes { body in
            try long.secret.withUnsafeBytes { try cipher.seal($0, .zero, into: body) }
        }
        let share = UnpaddedBase64.encode(key.recipient.raw.bytes)
        let stanza = HeaderStanza(arguments: ["X25519", share], body: body)
        #expect(throws: SealingError.malformed("A file key in the header is not one of 16 bytes.")) {
            try Sample.opened(Sample.file(stanza.text, [1], long))
        }
    }

    @Test func sharesOfLowOrderAreRefused() throws {
        let zero = UnpaddedBase64.encode([UInt8](repeating: 0, count: 32))
        #expect(throws: SealingError.weakKey) { try Sample.opened(Sample.file("-> X25519 \(zero)\n\(Self.body)\n")) }
    }

    /// A stanza for another recipient looks like a damaged one.
    @Test func othersAreTried() throws {
        let other = HeaderStanza(arguments: ["X25519", Self.share], body: [UInt8](repeating: 1, count: 32)).text
        #expect(try Sample.opened(Sample.file(other + Sample.stanza().text)) == [1, 2, 3])
        #expect(throws: SealingError.notForYou) { try Sample.opened(Sample.file(other)) }
    }
}
