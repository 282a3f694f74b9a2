/// An error with the result code for the peer or user, and a sentence.
///
/// The server's store and intake throw this error, and so does the client's code that reads sources or speaks other
/// protocols. The wire, access control and system calls have error types that say more.
package struct Failure: Error, Equatable, Sendable {
    package let code: ResultCode

    /// A sentence for users. On the server, the only paths in it are those in the server's directory.
    package let message: String

    /// Time after which a retry can succeed; nil if it is unknown.
    package let retryAfter: Interval?

    package init(_ code: ResultCode, _ message: String, retryAfter: Interval? = nil) {
        (self.code, self.message, self.retryAfter) = (code, message, retryAfter)
    }
}
