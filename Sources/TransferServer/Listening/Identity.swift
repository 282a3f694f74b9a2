import TransferIO
import TransferKeys
import TransferModel
import TransferReceipts
import TransferPorts

/// The server's key and its TLS certificate.
struct Identity {
    /// Signs receipts; nil if acknowledgements do not promise enough for receipts.
    var signer: ServerIdentity?

    /// The key by which clients know the server; nil if it needs none.
    var key: PublicKey?

    /// The secret that separates the uploads of different clients.
    var secret = Bytes32()

    /// The context for connections with TLS.
    var tls: TLSContext?

    /// Renews `tls` if the certificates are the server's own; nil otherwise.
    var ownTLS: OwnTLS?

    /// Events to log when the server starts to listen.
    var events: [LogEvent] = []

    /// Reads the identity from the server's own folder, which the store has locked, or makes it there; and reads the operator's
    /// certificate, if there is one.
    ///
    /// - Parameter frontEnds: the protocols that may run above TLS.
    init(_ configuration: ServerConfiguration, _ frontEnds: FrontEnds) throws(ServerError) {
        // A receipt promises no more than the acknowledgement.
        let givesReceipts = configuration.durability == .commit
        let own = givesReceipts || configuration.security.isEncrypted ? try open(configuration) : nil
        if let own { (secret, key) = (own.secret, own.key) }
        if givesReceipts { signer = own }
        try secure(configuration, own, frontEnds)
    }

    private mutating func open(_ configuration: ServerConfiguration) throws(ServerError) -> ServerIdentity {
        do throws(ServerIdentity.Fault) {
            let (identity, isNew) =
                if let file = configuration.cluster?.identity {
                    try ServerIdentity.open(at: file, isMounted: true)
                } else {
                    try ServerIdentity.open(in: Self.folder(of: configuration))
                }
            events = [.identity(identity.key, isNew: isNew)]
            return identity
        } catch {
            throw ServerError(error.message)
        }
    }

    /// Path of the server's own folder.
    private static func folder(of configuration: ServerConfiguration) -> String {
        "\(configuration.directory)/\(RelativePath.reservedName)"
    }

    private mutating func secure(
        _ configuration: ServerConfiguration, _ own: ServerIdentity?, _ frontEnds: FrontEnds
    ) throws(ServerError) {
        switch configuration.security {
        case .plaintext: break
        case .identity:
            guard let own else { break }
            let made = OwnTLS(own, in: Self.folder(of: configuration), names: configuration.ownNames, frontEnds)
            let (context, said) = try made.open()
            (tls, ownTLS) = (context, made)
            events += said
        case .certificate(let certificate, let key): try secure(certificate, key, frontEnds)
        }
    }

    private mutating func secure(
        _ certificate: String, _ key: String, _ frontEnds: FrontEnds
    ) throws(ServerError) {
        do throws(TLSError) {
            let context = try TLSContext.server(
                .files(certificate: certificate, key: key), protocols: frontEnds.protocols,
                webProtocols: frontEnds.webProtocols)
            if let key = context.key { events.append(.certificate(KeyFingerprint(of: key.bytes))) }
            tls = context
        } catch {
            throw ServerError(error.message)
        }
    }
}
