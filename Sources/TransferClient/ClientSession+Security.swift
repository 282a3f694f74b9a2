import TransferIO
import TransferProtocol

/// TLS with the server, before anything is said.
extension ClientSession {
    /// What the client says first. Who it is concerns nobody who listens in.
    var hello: Hello {
        let configuration = run.configuration
        let features: Features = configuration.wantsReceipts ? .receipts : []
        var hello = Hello(agent: configuration.agent, features: features, run: run.number)
        guard run.security != nil else { return hello }
        hello.token = configuration.token
        hello.clientName = configuration.machineName
        return hello
    }

    /// The first byte of a frame: this protocol without TLS.
    private static let bareFrame: UInt8 = 0

    /// Comes to know that it is the right server, and agrees on keys with it. If that fails the session is ending.
    func secure(_ socket: StreamSocket) async {
        guard let security = run.security else { return }
        switch await run.pool.run({ security.prepare() }) {
        case .failure(let fault): end(.untrusted(fault.message))
        case .success(let context):
            do throws(StreamError) {
                try await secure(socket, security, context)
            } catch {
                end(insecure(error, security))
            }
        }
    }

    private func secure(
        _ socket: StreamSocket, _ security: ClientSecurity, _ context: TLSContext
    ) async throws(StreamError) {
        guard ending == nil else { return }
        try socket.beginTLS(context, name: security.name, judge: security.verifier.judge)
        while try !socket.handshake() {
            await socket.readable.wait()
            guard ending == nil else { return }
        }
        guard security.verifier.hasNews else { return }
        let kept = await run.pool.run { Result { () throws(KnownServers.Fault) in try security.verifier.keep() } }
        if case .failure(let fault) = kept { end(.untrusted(fault.message)) }
    }

    private func insecure(_ error: StreamError, _ security: ClientSecurity) -> Ending {
        if error == .tls(.untrusted), let refusal = security.verifier.refusal {
            switch refusal {
            case .unknown(let server): return .unknown(server)
            case .wrong(let message): return .untrusted(message)
            }
        }
        // With whom there was TLS before, it was only disturbed.
        guard case .tls(let fault) = error, !run.lanes.hasConnected else { return .lost(error.reason) }
        let server = run.server.server
        switch fault {
        case .notTLS(firstByte: Self.bareFrame):
            return .untrusted(
                "The server \(server) doesn't use TLS. Where nobody can listen in, push with --plaintext. Nothing was "
                    + "sent.")
        case .notTLS:
            return .unsupported(
                "What listens at \(server) is no Transfer server: it doesn't speak TLS. Nothing was sent.")
        case .alert, .broken, .untrusted:
            return .unsupported("There is no TLS with \(server): \(fault.reason). Nothing was sent.")
        }
    }
}
