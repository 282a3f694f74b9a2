import TransferConnection
import TransferIO
import TransferModel
import TransferProtocol

/// The TLS handshake, and the client's first frame.
extension ClientSession {
    private var greeting: ServerGreeting {
        ServerGreeting(server: run.server, security: run.security, pool: run.pool)
    }

    /// The client's first frame, in which it introduces itself.
    var hello: Hello {
        let features: Features = run.configuration.wantsReceipts ? .receipts : []
        return greeting.hello(run.configuration, features: features, run: run.number)
    }

    /// Checks the server's identity and agrees on keys with it. If that fails, the session ends.
    func secure(_ socket: StreamSocket) async {
        let reason = await greeting.secure(socket, hasConnected: run.lanes.hasConnected) { ending != nil }
        if let reason { end(reason) }
    }
}
