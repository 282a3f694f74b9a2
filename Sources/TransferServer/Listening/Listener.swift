package import TransferIO

/// Where connections come in: an address, and what holds for those who come.
struct Listener {
    /// What may be spoken, and how it is secured.
    struct Terms: Sendable {
        let frontEnds: FrontEnds

        /// What connections are encrypted with from now on; nothing where they are not.
        let security: @Sendable () -> TLSContext?
    }

    let socket: ListeningSocket
    let terms: Terms

    /// What is spoken here; nothing for the usual front ends.
    let use: ListenerUse?

    /// Whether only programs that watch over the server come here.
    var isForProbes = false
}

/// A socket that a server accepts on, and what is spoken there.
package struct ServerSocket: Sendable {
    package let socket: BoundSocket

    /// What comes in here; nothing for the usual front ends.
    package let use: ListenerUse?

    package init(_ socket: BoundSocket, for use: ListenerUse? = nil) {
        (self.socket, self.use) = (socket, use)
    }
}
