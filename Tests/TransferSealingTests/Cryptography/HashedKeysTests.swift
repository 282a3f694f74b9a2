import Testing
import TransferKeys
import TransferModel

@testable import TransferSealing

@Suite struct HashedKeysTests {
    /// RFC 5869, appendix A.1 and A.3, the first 32 bytes of output.
    @Test func knownDerivations() throws {
        let secret = SecretBytes([UInt8](repeating: 0x0B, count: 22))
        let info = String(decoding: [] as [UInt8], as: UTF8.self)
        let plain = try HashedKeys.derive(from: secret, salt: [], info: info)
        #expect(
            plain.withUnsafeBytes { String(hexadecimal: Array($0)) }
                == "8da4e775a563c18f715f802a063c5a31b8a11f5c5ee1879ec3454e5f3c738d2d")
    }

    /// RFC 4231, test case 2.
    @Test func knownCode() throws {
        let code = try HashedKeys.code(of: "what do ya want for nothing?".utf8, under: SecretBytes("Jefe".utf8))
        #expect(
            String(hexadecimal: code.bytes) == "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843")
    }

    @Test func secretsAreComparedAndNotShown() throws {
        let (one, other) = (SecretBytes([1, 2, 3]), SecretBytes([1, 2, 4]))
        #expect(one.hasSameBytes(as: SecretBytes([1, 2, 3])) && !one.hasSameBytes(as: other))
        #expect(!one.hasSameBytes(as: SecretBytes([1, 2])))
        #expect(SecretBytes([0, 0]).isZero && !SecretBytes([0, 1]).isZero)
        #expect(try !SecretBytes.random(32).isZero)
        #expect("\(Sample.fileKey())" == "FileKey(...)")
        #expect(throws: SealingError.failed("getentropy")) { try SecretBytes.random(257) }
    }
}
