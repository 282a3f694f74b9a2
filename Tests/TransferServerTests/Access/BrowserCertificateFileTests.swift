import CLinux
import Glibc
import Testing
import TransferIO
import TransferKeys
import TransferProtocol
import TransferTestSupport

@testable import TransferServer

extension ServerTests {
    /// A server keeps its certificate for browsers in a file.
    @Suite(.directoryOnly) struct BrowserCertificateFileTests {
        private let directory: TemporaryDirectory
        private var path: String { directory.path("store/.transfer/browser.pem") }

        init() throws { directory = try TemporaryDirectory() }

        private func serving(
            _ http: HTTPUse = .on, advertised: String? = nil, _ body: @escaping @Sendable (TestServer) throws -> Void
        ) async throws {
            let change = { @Sendable (configuration: inout ServerConfiguration) in
                configuration.security = .identity
                configuration.access = .everyone
                (configuration.http, configuration.advertised) = (http, advertised)
            }
            try await TransferServerTests.serving(change, in: directory, body)
        }

        private var kept: BrowserCertificate? { TestServer.read(path).flatMap { BrowserCertificate(pem: $0) } }

        /// Users who have accepted the certificate must not be asked again after each start.
        @Test func staysFromOneServerToTheNext() async throws {
            try await serving { try $0.checkServes(isSecured: true) }
            var status = stat()
            #expect(lstat(path, &status) == 0 && status.st_mode & 0o777 == 0o600)
            let first = try #require(kept)
            try await serving(.only) { server in
                #expect(server.server.core.transport.tls?.key?.isEd25519 == true, "one identity for all")
                #expect(server.server.core.transport.tls?.covers("localhost") == true)
            }
            #expect(kept == first)
            try await serving(advertised: "nas.example:5288") { server in
                #expect(server.server.core.transport.tls?.covers("nas.example") == true)
            }
            #expect(kept != nil && kept != first)
        }

        @Test func isMadeOnlyWhereItIsOfUse() async throws {
            try await serving(.off) { try $0.checkServes(isSecured: true) }
            #expect(access(path, F_OK) != 0)
        }

        @Test func anotherIdentityHasAnother() async throws {
            try await serving { _ in }
            let first = try #require(kept)
            unlink(directory.path("store/.transfer/identity.pem"))
            try await serving { _ in }
            #expect(kept != nil && kept != first)
        }

        /// A certificate that expires soon is replaced by one with the key that clients know.
        @Test func oneThatEndsSoonIsReplaced() async throws {
            try await serving { _ in }
            let first = try #require(kept)
            let wording = KeyPair.Wording(name: "", harm: "", remedy: "", repair: "")
            let identity = try #require(try KeyPair.find(directory.path("store/.transfer/identity.pem"), wording))
            let owner = BrowserCertificate.Owner(
                key: identity.key.raw.bytes, sign: { identity.sign($0) },
                verifies: { identity.key.verifies($0, of: $1) })
            let now = Int64(time(nil))
            #expect(first.fits(["localhost", "127.0.0.1", "::1"], of: owner, at: now))
            let old = try BrowserCertificate(
                for: ["localhost"], of: owner, keyOf: first,
                at: now - BrowserCertificate.lifetime + BrowserCertificate.renewal)
            #expect(TestServer.write(old.pem, path) && chmod(path, 0o600) == 0)
            try await serving { server in
                let core = server.server.core
                let shown = core.transport.tls
                core.renewBrowserCertificate()
                #expect(core.transport.tls === shown, "it is not due again")
            }
            let renewed = try #require(kept)
            #expect(renewed != old && renewed.fits(["localhost"], of: owner, at: now))
        }

        @Test func whatOthersCanReadIsRefused() async throws {
            try await serving { _ in }
            chmod(path, 0o640)
            let error = await #expect(throws: ServerError.self) { try await serving { _ in } }
            #expect(error?.message.contains("chmod 600") ?? false)
            chmod(path, 0o600)
            _ = TestServer.write(Array("nothing".utf8), path)
            let damaged = await #expect(throws: ServerError.self) { try await serving { _ in } }
            #expect(damaged?.message.contains("Remove it, and the server makes a new one.") ?? false)
            unlink(path)
            try await serving { try $0.checkServes(isSecured: true) }
        }
    }
}
