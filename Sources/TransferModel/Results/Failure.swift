/// An error with the result code for the peer or user, and a sentence.
///
/// The server's store and intake throw it, and so do the client's readers of sources and its other protocols. Errors of
/// the wire, of access and of the system have types of their own, which say more.
package struct Failure: Error, Equatable, Sendable {
    package let code: ResultCode

    /// A sentence for users. On the server, it has no path of the machine outside the server's directory.
    package let message: String

    /// Time after which a retry can succeed; nil if it is unknown.
    package let retryAfter: Interval?

    package init(_ code: ResultCode, _ message: String, retryAfter: Interval? = nil) {
        (self.code, self.message, self.retryAfter) = (code, message, retryAfter)
    }
}
