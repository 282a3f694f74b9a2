/// The reason why a message is refused: the answer of an HTTP server.
package struct HTTPFault: Error, Equatable, Sendable {
    /// A status code of 400 to 599 (RFC 9110, section 15). It is 502, as from a gateway, if a client refuses the
    /// server's answer.
    package let status: Int

    /// A sentence for users, without text from the peer.
    package let message: String

    package init(_ status: Int, _ message: String) {
        (self.status, self.message) = (status, message)
    }
}
