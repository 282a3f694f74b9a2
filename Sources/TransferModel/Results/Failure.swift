/// Why something could not be done: the result code that the peer or the user gets, and a sentence.
///
/// The store and the intake throw it on the server, the reading of sources and the machines of other protocols on the client. Errors of
/// the wire, of access and of the system have their own types, because more is known of them.
package struct Failure: Error, Equatable, Sendable {
    package let code: ResultCode

    /// A sentence for people. On the server, it has no path of the machine outside the server's directory.
    package let message: String

    /// When it may be tried again; nil where there is no opinion about that.
    package let retryAfter: Interval?

    package init(_ code: ResultCode, _ message: String, retryAfter: Interval? = nil) {
        (self.code, self.message, self.retryAfter) = (code, message, retryAfter)
    }
}
