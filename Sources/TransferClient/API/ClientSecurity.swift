import TransferIO
import TransferKeys
import TransferProtocol
import TransferSystem

/// TLS for all connections of one client, prepared when the first connection needs it.
final class ClientSecurity: Sendable {
    /// The reason why no context could be created.
    struct Fault: Error, Sendable, Equatable {
        /// A sentence for the user that says what to do.
        let message: String
    }

    let verifier: ServerVerifier

    /// The server's name for checks of certificates; nil for a Unix socket.
    let name: String?

    private let key: KeyPair?
    let speaksHTTP: Bool
    private let state = Locked(State())

    private struct State {
        var context: Result<TLSContext, Fault>?
        /// Whether the context shows the client's key.
        var showsKey = false
    }

    /// - Parameters:
    ///   - key: the client's key; nil to show none.
    ///   - speaksHTTP: whether the connection is for HTTP. A server of another make would refuse the client's
    ///     certificate, so the key is then shown only to a server that the client recognizes by its key.
    init(_ trust: ServerTrust, _ server: ServerAddress, key: KeyPair?, speaksHTTP: Bool = false) {
        (self.key, self.speaksHTTP) = (key, speaksHTTP)
        verifier = ServerVerifier(trust, address: server.server)
        name =
            switch server.endpoint {
            // The zone of an IPv6 address belongs to this machine, not to the server's name.
            case .internet(let host, _): String(host.prefix { $0 != "%" })
            case .unix: nil
            }
    }

    /// Creates the TLS context and reads the known keys of the server, unless that was done before. It blocks.
    @discardableResult
    func prepare() -> Result<TLSContext, Fault> {
        state.withLock { state in
            // Create the context again, with the client's key, if the server's key has become known in the meantime.
            if let context = state.context, state.showsKey || !speaksHTTP || !verifier.isByKey { return context }
            let made = Result { () throws(Fault) in try make() }
            state = State(context: made, showsKey: !speaksHTTP || verifier.isByKey)
            return made
        }
    }

    private func make() throws(Fault) -> TLSContext {
        do throws(KnownServers.Fault) {
            try verifier.prepare()
        } catch {
            throw Fault(message: error.message)
        }
        let shown = speaksHTTP && !verifier.isByKey ? nil : key
        do throws(TLSError) {
            return try TLSContext.client(
                shown.map { .ed25519(seed: $0.secret.bytes) },
                protocols: [speaksHTTP ? Self.httpName : FrameHeader.protocolName])
        } catch {
            throw Fault(message: error.message)
        }
    }

    /// The ALPN protocol name of HTTP/1.1 (RFC 7301, section 6).
    private static let httpName = "http/1.1"
}
