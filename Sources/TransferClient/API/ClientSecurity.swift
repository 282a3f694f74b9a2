import TransferIO
import TransferKeys
import TransferProtocol
import TransferSystem

/// TLS of one client: what all its connections share, made when the first one needs it.
final class ClientSecurity: Sendable {
    /// Why there is none.
    struct Fault: Error, Sendable, Equatable {
        /// A sentence that says what to do.
        let message: String
    }

    let verifier: ServerVerifier

    /// That of the server, for certificates; nothing where it has none.
    let name: String?

    private let key: KeyPair?
    private let context = Locked<Result<TLSContext, Fault>?>(nil)

    /// - Parameter key: what to show the server; nothing to show none.
    init(_ trust: ServerTrust, _ server: ServerAddress, key: KeyPair?) {
        self.key = key
        verifier = ServerVerifier(trust, address: server.server)
        name =
            switch server.endpoint {
            // A zone belongs to this machine, not to the server's name.
            case .internet(let host, _): String(host.prefix { $0 != "%" })
            case .unix: nil
            }
    }

    /// Makes the context and reads what is known of the server, once. Blocks.
    @discardableResult
    func prepare() -> Result<TLSContext, Fault> {
        context.withLock { context in
            let made = context ?? Result { () throws(Fault) in try make() }
            context = made
            return made
        }
    }

    private func make() throws(Fault) -> TLSContext {
        do throws(KnownServers.Fault) {
            try verifier.prepare()
        } catch {
            throw Fault(message: error.message)
        }
        do throws(TLSError) {
            return try TLSContext.client(
                key.map { .ed25519(seed: $0.secret.bytes) }, protocols: [FrameHeader.protocolName])
        } catch {
            throw Fault(message: error.message)
        }
    }
}
