import COpenSSL
import Testing
import TransferTestSupport

@testable import TransferIO

/// The client's hello decides which certificate the client gets, and whether the server asks for the client's.
@Suite struct TLSHelloTests {
    private static let owner = BrowserCertificate.Owner(
        key: [UInt8](repeating: 1, count: 32), sign: { _ in [UInt8](repeating: 2, count: 64) },
        verifies: { _, _ in true })

    private static let browser = Result {
        try BrowserCertificate(for: ["localhost"], of: owner, keyOf: nil, at: 1_800_000_000)
    }

    struct Case: CustomTestStringConvertible {
        let protocols: [String]
        /// Algorithms that the client offers; nil for all.
        let algorithms: String?
        let getsEd25519: Bool
        let isAsked: Bool

        var testDescription: String { "\(protocols) \(algorithms ?? "all")" }
    }

    static let cases = [
        Case(protocols: ["transfer/2"], algorithms: nil, getsEd25519: true, isAsked: true),
        Case(protocols: [], algorithms: nil, getsEd25519: true, isAsked: true),
        Case(protocols: ["http/1.1"], algorithms: nil, getsEd25519: false, isAsked: true),
        Case(protocols: ["http/1.1"], algorithms: "ed25519", getsEd25519: true, isAsked: true),
        Case(protocols: ["h2", "http/1.1"], algorithms: "ECDSA+SHA256", getsEd25519: false, isAsked: false),
        Case(protocols: ["http/1.1", "transfer/2"], algorithms: nil, getsEd25519: true, isAsked: true),
        Case(protocols: [], algorithms: "ECDSA+SHA256", getsEd25519: false, isAsked: true),
    ]

    @Test(arguments: cases) func byTheHello(_ offer: Case) throws {
        let server = try TLSContext.server(
            .ed25519(seed: TLSPair.serverSeed), protocols: ["transfer/2", "http/1.1"], webProtocols: ["http/1.1"],
            browser: Self.browser.get())
        #expect(server.key?.isEd25519 == true)
        let (pair, isAsked) = try shaken(offer, server)
        #expect(pair.client.session.peerKey?.isEd25519 == offer.getsEd25519)
        #expect(isAsked == offer.isAsked)
        if offer.getsEd25519 { #expect(pair.client.session.peerKey == server.key) }
    }

    /// A server with one certificate does not ask browsers for one either.
    @Test func aServerWithFiles() throws {
        let directory = try TemporaryDirectory()
        let authority = try CertificateAuthority(at: directory.path("authority.pem"))
        try authority.issue("DNS:localhost", to: directory.path("cert.pem"), key: directory.path("key.pem"))
        let server = try TLSContext.server(
            .files(certificate: directory.path("cert.pem"), key: directory.path("key.pem")),
            protocols: ["transfer/2", "http/1.1"], webProtocols: ["http/1.1"])
        for (algorithms, isExpected) in [(nil, true), ("ECDSA+SHA256", false)] as [(String?, Bool)] {
            let offer = Case(protocols: ["http/1.1"], algorithms: algorithms, getsEd25519: false, isAsked: isExpected)
            #expect(try shaken(offer, server).isAsked == isExpected)
        }
        #expect(server.covers("localhost") && !server.covers("other"))
    }

    /// - Returns: the pair, and whether the server asked the client for a certificate.
    private func shaken(_ offer: Case, _ server: TLSContext) throws -> (TLSPair, isAsked: Bool) {
        let client = try TLSContext.client(protocols: offer.protocols)
        if let algorithms = offer.algorithms { copenssl_set_algorithms(client.raw, algorithms) }
        let asked = UnsafeMutablePointer<Bool>.allocate(capacity: 1)
        asked.initialize(to: false)
        defer { asked.deallocate() }
        SSL_CTX_set_cert_cb(
            client.raw,
            { _, argument in
                argument?.assumingMemoryBound(to: Bool.self).pointee = true
                return 1
            }, asked)
        let pair = try TLSPair(client, server: server)
        try pair.shake()
        #expect(pair.isEstablished)
        return (pair, asked.pointee)
    }
}
