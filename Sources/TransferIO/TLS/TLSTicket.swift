internal import COpenSSL

/// A ticket with which a client resumes a session.
///
/// `@unchecked Sendable`: OpenSSL counts references to a session, and does not change an established one
/// (openssl-threads(7)).
final class TLSTicket: @unchecked Sendable {
    let raw: OpaquePointer

    /// Takes ownership of OpenSSL's session.
    init(owning raw: OpaquePointer) {
        self.raw = raw
    }

    deinit {
        SSL_SESSION_free(raw)
    }
}
