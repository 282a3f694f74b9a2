package import TransferIO

/// A listening socket, and how connections to it are served.
struct Listener {
    /// The protocols of a listener, and their encryption.
    struct Terms: Sendable {
        let frontEnds: FrontEnds

        /// Whether balancers may connect, which state the client in a PROXY header.
        var isForBalancers = false

        /// The TLS context for new connections; nil without encryption.
        let security: @Sendable () -> TLSContext?
    }

    let socket: ListeningSocket
    let terms: Terms

    /// Nil for the usual front ends.
    let use: ListenerUse?

    /// Whether the listener is for monitoring programs only.
    var isForProbes = false
}

/// A socket that a server accepts on, and its use.
package struct ServerSocket: Sendable {
    package let socket: BoundSocket

    /// Nil for the usual front ends.
    package let use: ListenerUse?

    package init(_ socket: BoundSocket, for use: ListenerUse? = nil) {
        (self.socket, self.use) = (socket, use)
    }
}
