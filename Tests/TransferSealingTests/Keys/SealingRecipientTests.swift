import Testing
import TransferKeys

@testable import TransferSealing

@Suite struct SealingRecipientTests {
    @Test(arguments: [
        "", Sample.secretText, Sample.recipientText.uppercased(), Sample.recipientText + "q",
        "Age" + Sample.recipientText.dropFirst(3),
        Bech32.encode("age", [UInt8](repeating: 1, count: 31)), Bech32.encode("age1", [UInt8](repeating: 1, count: 32)),
        Bech32.encode("agf", [UInt8](repeating: 1, count: 32)),
    ]) func textsHaveOneForm(_ text: String) {
        #expect(throws: SealingError.self) { try SealingRecipient(text: text) }
    }

    /// The points of order 1, 2, 4 and 8 (RFC 7748, section 6.1; cr.yp.to/ecdh.html, "validate"), with and without the
    /// highest bit, which is ignored.
    @Test(arguments: [
        "0000000000000000000000000000000000000000000000000000000000000000",
        "0100000000000000000000000000000000000000000000000000000000000000",
        "e0eb7a7c3b41b8ae1656e3faf19fc46ada098deb9c32b1fd866205165f49b800",
        "5f9c95bca3508c24b1d0b1559c83ef5b04445cc4581c8e86d8224eddd09f1157",
        "ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
        "edffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
        "eeffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
        "0000000000000000000000000000000000000000000000000000000000000080",
    ]) func lowOrderIsRefused(_ hexadecimal: String) throws {
        let raw = try Sample.bytes32(hexadecimal)
        #expect(throws: SealingError.weakKey) { try SealingRecipient(raw) }
        #expect(throws: SealingError.weakKey) { try SealingRecipient(text: Bech32.encode("age", raw.bytes)) }
    }

    /// An Ed25519 key of equal bytes has another fingerprint.
    @Test func fingerprintIsItsOwn() throws {
        let recipient = try Sample.key().recipient
        #expect(recipient.fingerprint != KeyFingerprint(of: PublicKey(recipient.raw)))
        #expect(recipient.fingerprint.description.hasPrefix("SHA256:"))
        #expect(try recipient.fingerprint != Sample.key(1).recipient.fingerprint)
    }
}
