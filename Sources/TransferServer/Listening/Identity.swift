import TransferIO
import TransferKeys
import TransferModel
import TransferReceipts
import TransferStore

/// What a server proves to be, and with what.
struct Identity {
    /// Signs receipts; nothing where acknowledgements don't promise enough for that.
    var signer: ServerIdentity?

    /// What keeps the uploads of clients apart.
    var secret = Bytes32()

    /// For connections with TLS.
    var tls: TLSContext?

    /// What to say of it when the server starts to listen.
    var events: [LogEvent] = []

    /// Reads the identity in the server's own folder, which the store has locked, or makes it there; and the certificate
    /// where the operator has one.
    ///
    /// - Parameter protocols: what may run above TLS.
    init(_ configuration: ServerConfiguration, _ protocols: [String]) throws(ServerError) {
        // A receipt is worth no more than the acknowledgement.
        let givesReceipts = configuration.durability == .commit
        let own = givesReceipts || configuration.security.isEncrypted ? try open(configuration) : nil
        if let own { secret = own.secret }
        if givesReceipts { signer = own }
        try secure(configuration.security, own, protocols)
    }

    private mutating func open(_ configuration: ServerConfiguration) throws(ServerError) -> ServerIdentity {
        do throws(ServerIdentity.Fault) {
            let folder = "\(configuration.directory)/\(RelativePath.reservedName)"
            let (identity, isNew) = try ServerIdentity.open(in: folder)
            events = [.identity(identity.key, isNew: isNew)]
            return identity
        } catch {
            throw ServerError(error.message)
        }
    }

    private mutating func secure(
        _ security: ServerConfiguration.Security, _ own: ServerIdentity?, _ protocols: [String]
    ) throws(ServerError) {
        do throws(TLSError) {
            switch security {
            case .plaintext: break
            case .identity:
                tls = try own.map { (own) throws(TLSError) in
                    try .server(.ed25519(seed: own.secret.bytes), protocols: protocols)
                }
            case .certificate(let certificate, let key):
                let context = try TLSContext.server(
                    .files(certificate: certificate, key: key), protocols: protocols)
                if let key = context.key { events.append(.certificate(KeyFingerprint(of: key.bytes))) }
                tls = context
            }
        } catch {
            throw ServerError(error.message)
        }
    }
}
