/// Why there is no TLS to start with: a certificate or a key that cannot be used.
package struct TLSError: Error, Equatable, Sendable {
    /// A sentence that says what to do.
    package let message: String

    package init(_ message: String) {
        self.message = message
    }
}
