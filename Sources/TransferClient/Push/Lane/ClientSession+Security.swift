import TransferConnection
import TransferIO
import TransferModel
import TransferProtocol

/// TLS with the server, before anything is said.
extension ClientSession {
    private var greeting: ServerGreeting {
        ServerGreeting(server: run.server, security: run.security, pool: run.pool)
    }

    /// What the client says first.
    var hello: Hello {
        let features: Features = run.configuration.wantsReceipts ? .receipts : []
        return greeting.hello(run.configuration, features: features, run: run.number)
    }

    /// Comes to know that it is the right server, and agrees on keys with it. If that fails the session is ending.
    func secure(_ socket: StreamSocket) async {
        let reason = await greeting.secure(socket, hasConnected: run.lanes.hasConnected) { ending != nil }
        if let reason { end(reason) }
    }
}
