internal import COpenSSL

/// What a client resumes an earlier conversation with.
///
/// `@unchecked Sendable`: OpenSSL counts who holds a session, and changes none that was established (openssl-threads(7)).
final class TLSTicket: @unchecked Sendable {
    let raw: OpaquePointer

    /// Takes ownership.
    init(owning raw: OpaquePointer) {
        self.raw = raw
    }

    deinit {
        SSL_SESSION_free(raw)
    }
}
