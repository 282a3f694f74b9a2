import Testing
import TransferKeys
import TransferModel

@testable import TransferSealing

@Suite struct SealingCertificateTests {
    private let owner: KeyPair
    private let certificate: SealingCertificate

    init() throws {
        owner = try Sample.identity()
        certificate = SealingCertificate(
            try Sample.key().recipient, by: owner, at: UTCTime(clamping: 1_700_000_000))
    }

    @Test func comesBack() throws {
        let again = try SealingCertificate(decoding: certificate.encoded, of: owner.key)
        #expect(again == certificate && again.encoded == certificate.encoded)
        #expect(again.encoded.count == SealingCertificate.size && SealingCertificate.size == 137)
        #expect(again.fingerprint == (try Sample.key().recipient.fingerprint))
        #expect(again.issued == UTCTime(clamping: 1_700_000_000) && again.owner == owner.key)
    }

    /// The signature covers every bit of a certificate.
    @Test func everyBitIsSigned() {
        for index in certificate.encoded.indices {
            for bit in 0..<8 {
                var changed = certificate.encoded
                changed[index] ^= 1 << bit
                #expect(throws: SealingError.self) { try SealingCertificate(decoding: changed, of: owner.key) }
            }
        }
    }

    @Test func whoSignedMatters() throws {
        let other = try Sample.identity(2)
        #expect(throws: SealingError.wrongSigner) {
            try SealingCertificate(decoding: certificate.encoded, of: other.key)
        }
        let theirs = SealingCertificate(certificate.recipient, by: other, at: certificate.issued)
        #expect(throws: SealingError.wrongSigner) { try SealingCertificate(decoding: theirs.encoded, of: owner.key) }
    }

    @Test func lengthIsFixed() {
        for bytes in [[], [1], certificate.encoded + [0], Array(certificate.encoded.dropLast())] {
            #expect(throws: SealingError.self) { try SealingCertificate(decoding: bytes, of: owner.key) }
        }
    }

    /// The owner's signature does not make a weak key or an invalid time acceptable.
    @Test func signedNonsenseIsRefused() throws {
        let weak = SealingCertificate(SealingRecipient(unchecked: Bytes32()), by: owner, at: .now)
        #expect(throws: SealingError.weakKey) { try SealingCertificate(decoding: weak.encoded, of: owner.key) }
        let fields = [1] + certificate.recipient.raw.bytes + owner.key.raw.bytes + [UInt8](repeating: 0xFF, count: 8)
        let signature = owner.sign(Array("transfer sealing certificate v1\n".utf8) + fields)
        #expect(throws: SealingError.malformed("A sealing certificate has an invalid time.")) {
            try SealingCertificate(decoding: fields + signature, of: owner.key)
        }
    }
}
