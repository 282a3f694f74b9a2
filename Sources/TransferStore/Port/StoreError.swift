package import TransferModel

/// Why the store could not do what it was asked: the result that the client gets, in typed form and as a sentence.
package struct StoreError: Error, Equatable, Sendable {
    package let code: ResultCode

    /// A sentence for people, without paths of the server's machine outside its directory.
    package let message: String

    /// When it may be tried again; nil where the server has no opinion.
    package let retryAfter: Interval?

    package init(_ code: ResultCode, _ message: String, retryAfter: Interval? = nil) {
        (self.code, self.message, self.retryAfter) = (code, message, retryAfter)
    }
}
