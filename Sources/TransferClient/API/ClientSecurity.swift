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
    let speaksHTTP: Bool
    private let state = Locked(State())

    private struct State {
        var context: Result<TLSContext, Fault>?
        /// Whether the key is shown in it.
        var showsKey = false
    }

    /// - Parameters:
    ///   - key: what to show the server; nothing to show none.
    ///   - speaksHTTP: whether the server may be one that this key is nothing to: it is shown to those that are known by theirs,
    ///     and servers that know certificates of other kinds would refuse it.
    init(_ trust: ServerTrust, _ server: ServerAddress, key: KeyPair?, speaksHTTP: Bool = false) {
        (self.key, self.speaksHTTP) = (key, speaksHTTP)
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
        state.withLock { state in
            // Somebody may have trusted the server since.
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

    /// RFC 7301, section 6.
    private static let httpName = "http/1.1"
}
