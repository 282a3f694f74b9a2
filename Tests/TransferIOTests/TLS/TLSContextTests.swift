import COpenSSL
import Testing
import TransferTestSupport

@testable import TransferIO

@Suite struct TLSContextTests {
    /// Strict parsers refuse dates before 2050 in the longer form, and later ones in the shorter form (RFC 5280,
    /// section 4.1.2.5).
    @Test func datesHaveTheFormOfTheirTime() throws {
        let context = try TLSContext.server(.ed25519(seed: TLSPair.serverSeed))
        let certificate = try #require(SSL_CTX_get0_certificate(context.raw))
        let (first, last) = (X509_get0_notBefore(certificate), X509_get0_notAfter(certificate))
        #expect(ASN1_STRING_type(first) == V_ASN1_UTCTIME)
        #expect(ASN1_STRING_type(last) == V_ASN1_GENERALIZEDTIME)
        #expect(X509_cmp_current_time(first) < 0 && X509_cmp_current_time(last) > 0)
    }

    @Test func aNameWithAZeroByteIsNotCutThere() throws {
        let context = try TLSContext.client()
        #expect(throws: TLSFault.self) { _ = try TLSSession(context, name: "good.example\u{0}.evil.example") }
    }
}
