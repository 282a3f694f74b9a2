import Testing
import TransferTestSupport

/// Servers with a certificate from an authority.
@Suite(.ownThreads) struct CertificateTests {
    private let home: TemporaryDirectory
    private let authority: CertificateAuthority

    init() throws {
        home = try TemporaryDirectory()
        authority = try CertificateAuthority(at: home.path("authority.pem"))
    }

    private func server(
        _ names: String = "DNS:localhost,IP:127.0.0.1", days: ClosedRange<Int> = -1...5, signsItself: Bool = false
    ) throws -> SecureServer {
        let (certificate, key) = (home.path("cert.pem"), home.path("key.pem"))
        try authority.issue(names, days: days, to: certificate, key: key, signsItself: signsItself)
        return try SecureServer(["--cert", certificate, "--key", key])
    }

    private var trusting: [String: String] { ["SSL_CERT_FILE": authority.path] }

    @Test func nothingIsAskedWhereTheSystemTrustsIt() throws {
        let server = try server()
        let port = server.address.split(separator: ":").last ?? ""
        for address in [server.address, "localhost:\(port)"] {
            let push = try server.push(to: address, trusting)
            #expect(push.end == .exited(0), "\(push.errors)")
        }
        #expect(try server.trust(["list"]).output == "")
    }

    @Test func whereTheSystemDoesNotItIsAnUnknownServer() throws {
        let server = try server()
        let push = try server.push()
        #expect(push.end == .exited(4) && push.errors.contains("is not known here"), "\(push.errors)")
        #expect(try server.push(["--server-key", server.fingerprint]).end == .exited(0))
        #expect(try server.push(["--trust-new"]).end == .exited(0))
        #expect(try server.push().end == .exited(0))
    }

    struct Bad: CustomTestStringConvertible {
        let names: String
        let days: ClosedRange<Int>
        var signsItself = false
        let sentence: String

        var testDescription: String { sentence }
    }

    @Test(arguments: [
        Bad(names: "DNS:localhost", days: -9 ... -2, sentence: "has expired."),
        Bad(names: "IP:127.0.0.1", days: -9 ... -2, signsItself: true, sentence: "has expired."),
        Bad(names: "IP:127.0.0.1", days: 2...9, sentence: "is not valid yet, or the clock of this machine is wrong."),
        Bad(names: "DNS:other.example,IP:127.0.0.2", days: -1...5, sentence: "is for another name."),
    ])
    func aBadOneIsRefused(_ bad: Bad) throws {
        let server = try server(bad.names, days: bad.days, signsItself: bad.signsItself)
        for flags in [[], ["--trust-new"]] {
            let push = try server.push(flags, trusting)
            #expect(push.end == .exited(4), "\(push.errors)")
            let words = "The certificate of the server \(server.address) \(bad.sentence)"
            #expect(push.errors.contains(words), "\(push.errors)")
        }
        #expect(server.storedFiles.isEmpty)
        // A client that knows the server's key needs no valid certificate.
        #expect(try server.push(["--server-key", server.fingerprint], trusting).end == .exited(0))
    }

    @Test func filesThatCannotBeUsedAreNamed() throws {
        let paths = ["cert.pem", "key.pem", "other.pem", "other.key", "garbage"].map { home.path($0) }
        try authority.issue("DNS:a", to: paths[0], key: paths[1])
        try authority.issue("DNS:a", to: paths[2], key: paths[3])
        try writeFile(paths[4], [1, 2, 3])
        let cases = [
            (paths[0], paths[3], "The key '\(paths[3])' is not that of the certificate '\(paths[0])'."),
            (paths[4], paths[1], "The certificate '\(paths[4])' cannot be used: "),
            (paths[0], paths[4], "The key '\(paths[4])' cannot be used: "),
            (home.path("none"), paths[1], "The certificate '\(home.path("none"))' cannot be used: "),
        ]
        for (certificate, key, message) in cases {
            let serve = try Finished([
                "serve", "--dir", home.path("in"), "--listen", "127.0.0.1:0", "--cert", certificate, "--key", key,
            ])
            #expect(serve.end == .exited(5) && serve.errors.contains("transfer: " + message), "\(serve.errors)")
        }
    }
}
