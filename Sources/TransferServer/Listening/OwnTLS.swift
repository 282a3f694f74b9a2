import Glibc
import TransferIO
import TransferKeys
import TransferModel
import TransferReceipts
import TransferSystem

/// TLS with the server's own key, and with a certificate for browsers if the server speaks HTTP.
final class OwnTLS: Sendable {
    private let identity: ServerIdentity
    private let folder: String
    private let names: [String]
    private let frontEnds: FrontEnds
    private let shown = Locked<BrowserCertificate?>(nil)

    /// - Parameters:
    ///   - folder: the server's own folder.
    ///   - names: host names and addresses of the server.
    init(_ identity: ServerIdentity, in folder: String, names: [String], _ frontEnds: FrontEnds) {
        (self.identity, self.folder, self.names, self.frontEnds) = (identity, folder, names, frontEnds)
    }

    /// Makes the context for new connections, and events to log. Blocks.
    ///
    /// - Throws: `ServerError` if the certificate cannot be read or made.
    func open() throws(ServerError) -> (TLSContext, [LogEvent]) {
        let web = frontEnds.webProtocols
        var made: (certificate: BrowserCertificate, isNew: Bool)?
        if !web.isEmpty { made = try BrowserCertificate.kept(in: folder, for: names, of: owner, at: Int64(time(nil))) }
        let certificate = made?.certificate
        shown.withLock { $0 = certificate }
        do throws(TLSError) {
            let context = try TLSContext.server(
                .ed25519(seed: identity.secret.bytes), protocols: frontEnds.protocols, webProtocols: web,
                browser: certificate)
            return (context, made.map { [.browserCertificate($0.certificate, isNew: $0.isNew)] } ?? [])
        } catch {
            throw ServerError(error.message)
        }
    }

    /// Whether the certificate for browsers expires soon.
    var isDue: Bool {
        guard let certificate = shown.withLock({ $0 }) else { return false }
        return !certificate.fits([], of: owner, at: Int64(time(nil)))
    }

    private var owner: BrowserCertificate.Owner {
        BrowserCertificate.Owner(
            key: identity.key.raw.bytes, sign: { [identity] in identity.sign($0) },
            verifies: { [identity] in identity.key.verifies($0, of: $1) })
    }
}

extension FrontEnds {
    /// The protocols that browsers speak.
    var webProtocols: [String] { protocols.filter { HTTPFrontEnd.names.contains($0) } }
}

extension ServerCore {
    /// Replaces the certificate for browsers if it expires soon. Open connections continue.
    func renewBrowserCertificate() {
        guard let ownTLS, ownTLS.isDue else { return }
        do throws(ServerError) {
            let (context, events) = try ownTLS.open()
            transport.security.withLock { $0 = context }
            observability.log.write(events)
        } catch {
            observability.log.write([.notReloaded(error.message)])
        }
    }
}

extension LogEvent {
    static func browserCertificate(_ certificate: BrowserCertificate, isNew: Bool) -> LogEvent {
        let fingerprint = certificate.fingerprint.map { String(hexadecimal: [$0]).uppercased() }.joined(separator: ":")
        return LogEvent(
            .info, "browserCertificate",
            "browsers are shown \(isNew ? "a new certificate" : "the certificate") with the SHA-256 fingerprint \(fingerprint)",
            [("fingerprint", .string(fingerprint)), ("new", .bool(isNew))])
    }
}
