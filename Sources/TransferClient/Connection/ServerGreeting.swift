import TransferConnection
import TransferIO
import TransferKeys
import TransferModel
import TransferProtocol
import TransferReceipts

/// The beginning of every connection: the TLS handshake with the server, and the `hello` after it.
struct ServerGreeting {
    let server: ServerAddress
    let security: ClientSecurity?
    let pool: BlockingPool

    /// The first byte of a frame of this protocol without TLS.
    private static let bareFrame: UInt8 = 0

    /// OpenSSL's name of the alert from a server that supports none of the client's protocols (RFC 7301, section 3.2).
    private static let otherProtocol = "no application protocol"

    /// The client's first frame. It names the client only inside TLS, so that listeners do not learn who it is.
    func hello(_ configuration: ClientConfiguration, features: Features, run: UInt64?) -> Hello {
        var hello = Hello(agent: configuration.agent, features: features, run: run)
        guard security != nil else { return hello }
        hello.token = configuration.token
        hello.clientName = configuration.machineName
        return hello
    }

    /// Checks the server's identity and agrees on keys with it.
    ///
    /// - Parameters:
    ///   - hasConnected: whether the server has answered before.
    ///   - isEnding: whether the session is being closed.
    /// - Returns: the reason of the failure; nil on success.
    func secure(
        _ socket: StreamSocket, hasConnected: Bool, unless isEnding: () -> Bool
    ) async -> ClientSession.Ending? {
        guard let security else { return nil }
        switch await pool.run({ security.prepare() }) {
        case .failure(let fault): return .untrusted(fault.message)
        case .success(let context):
            do throws(StreamError) {
                return try await secure(socket, security, context, unless: isEnding)
            } catch {
                let isTransfer = security.speaksHTTP || socket.chosenProtocol == FrameHeader.protocolName
                return insecure(error, security, hasConnected: hasConnected, isTransfer: isTransfer)
            }
        }
    }

    private func secure(
        _ socket: StreamSocket, _ security: ClientSecurity, _ context: TLSContext, unless isEnding: () -> Bool
    ) async throws(StreamError) -> ClientSession.Ending? {
        guard !isEnding() else { return nil }
        try socket.beginTLS(context, name: security.name, judge: security.verifier.judge)
        while try !socket.handshake() {
            await socket.readable.wait()
            guard !isEnding() else { return nil }
        }
        guard security.verifier.hasNews else { return nil }
        let kept = await pool.run { Result { () throws(KnownServers.Fault) in try security.verifier.keep() } }
        if case .failure(let fault) = kept { return .untrusted(fault.message) }
        return nil
    }

    private func insecure(
        _ error: StreamError, _ security: ClientSecurity, hasConnected: Bool, isTransfer: Bool
    ) -> ClientSession.Ending {
        if error == .tls(.untrusted), let refusal = security.verifier.refusal {
            switch refusal {
            case .unknown(var server):
                server.speaksTransfer = isTransfer
                return .unknown(server)
            case .wrong(let message): return .untrusted(message)
            }
        }
        // If TLS has worked with this server before, the failure is treated like a lost connection.
        guard case .tls(let fault) = error, !hasConnected else { return .lost(error.reason) }
        switch fault {
        case .notTLS(let opening) where opening.first == Self.bareFrame:
            return .untrusted(
                "The server \(server.server) doesn't use TLS. In a network without eavesdroppers, push "
                    + "with --plaintext. Nothing was sent.", .bare)
        case .notTLS(let opening):
            if let service = ForeignService(opening: opening) {
                return .unsupported(service.sentence(server.endpoint))
            }
            return .unsupported(
                "\(server.server) is not a Transfer server: it doesn't speak TLS. Nothing was sent.")
        case .alert(Self.otherProtocol):
            return .unsupported(
                "\(server.server) is not a Transfer server: it speaks TLS, but another protocol than "
                    + "Transfer, as web servers do. Check whether the port is right. Nothing was sent.")
        case .alert, .broken, .untrusted:
            return .unsupported("The TLS handshake with \(server.server) failed: \(fault.reason). Nothing was sent.")
        }
    }
}

/// The keys that a server has proved on a connection. The key in `welcome` is only a claim, because every server can
/// name the key of another one.
struct ProvenServer: Equatable, Sendable {
    /// The key that the server signs receipts with; nil if the server names none or has not proved it, and without TLS.
    let receiptKey: ServerKey?

    /// The key of the server's certificate, which can change every few months; nil without TLS.
    private let tlsKey: KeyFingerprint?

    /// - Parameters:
    ///   - tlsKey: the key of the certificate, or the identity that the certificate is bound to.
    ///   - channelBinding: the connection's channel binding (RFC 9266). It differs from the server's if a proxy ends
    ///     TLS in front of the server.
    init(_ welcome: Welcome, tlsKey: TLSKey?, channelBinding: [UInt8]?) {
        self.tlsKey = tlsKey.map { KeyFingerprint(of: $0.bytes) }
        guard let tlsKey, let key = welcome.serverKey.flatMap({ ServerKey($0) }) else {
            receiptKey = nil
            return
        }
        let isTLSKey = tlsKey.isEd25519 && tlsKey.bytes == key.raw.bytes
        let isProven =
            if let proof = welcome.serverKeyProof, let channelBinding {
                key.isProven(by: proof, on: channelBinding)
            } else {
                false
            }
        receiptKey = isTLSKey || isProven ? key : nil
    }

    /// - Parameter socket: the connection that received `welcome`; its handshake is complete.
    init(_ welcome: Welcome, over socket: StreamSocket?) {
        self.init(welcome, tlsKey: socket?.peerIdentity, channelBinding: socket?.channelBinding)
    }

    /// The fingerprint that identifies the server in `known_people`: that of the proved receipt key, or else of the
    /// certificate's key.
    var fingerprint: KeyFingerprint? { receiptKey.map { KeyFingerprint(of: $0) } ?? tlsKey }
}
