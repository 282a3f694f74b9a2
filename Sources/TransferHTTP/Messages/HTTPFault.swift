/// Why a message is refused: what an HTTP server answers.
package struct HTTPFault: Error, Equatable, Sendable {
    /// A status code of 400 to 599 (RFC 9110, section 15). For an answer that a client refuses it is 502, what a
    /// gateway would say.
    package let status: Int

    /// A sentence for people. It has nothing of what the peer sent.
    package let message: String

    package init(_ status: Int, _ message: String) {
        (self.status, self.message) = (status, message)
    }
}
