import COpenSSL
import Testing
import TransferSystem
import TransferTestSupport

@testable import TransferIO

/// Certificates from files, issued by an authority.
@Suite struct TLSCertificateTests {
    private let directory: TemporaryDirectory
    private let authority: CertificateAuthority

    init() throws {
        directory = try TemporaryDirectory()
        authority = try CertificateAuthority(at: directory.path("authority.pem"))
    }

    private func identity(_ name: String = "good.example") throws -> TLSIdentity {
        let (certificate, key) = (directory.path("\(name).pem"), directory.path("\(name).key"))
        try authority.issue("DNS:\(name)", to: certificate, key: key)
        return .files(certificate: certificate, key: key)
    }

    /// The problem that a client that trusts the authority finds with a server.
    private func problem(asking name: String) throws -> TLSProblem? {
        let context = try TLSContext.client()
        X509_STORE_load_file(SSL_CTX_get_cert_store(context.raw), authority.path)
        let found = Locked<TLSProblem?>(.other("nobody asked"))
        let client = try TLSSide(context, name: name) { _, check in
            let problem = check()
            found.withLock { $0 = problem }
            return true
        }
        let server = try TLSSide(.server(identity()))
        _ = try client.shake(server.shake(client.shake()))
        return found.withLock { $0 }
    }

    @Test func isForTheNameThatWasAskedFor() throws {
        #expect(try problem(asking: "good.example") == nil)
        #expect(try problem(asking: "evil.example") == .wrongName)
    }

    /// Clients are identified by Ed25519 keys; a client with another key has no identity.
    @Test func aClientShowsAnEd25519KeyOrNone() throws {
        for (shown, isTaken) in [(try identity(), false), (.ed25519(seed: TLSPair.clientSeed), true), (nil, true)] {
            let pair = try TLSPair(.client(shown))
            if isTaken { try pair.shake() } else { #expect(throws: TLSFault.self) { try pair.shake() } }
            #expect(pair.server.isEstablished == isTaken)
        }
    }

    @Test func hasItsOwnKey() throws {
        guard case .files(let certificate, _) = try identity("a.example"),
            case .files(_, let key) = try identity("b.example")
        else { return }
        #expect(throws: TLSError.self) { try TLSContext.server(.files(certificate: certificate, key: key)) }
    }
}
