internal import COpenSSL

/// OpenSSL's SHA-256, looked up once in the process. `EVP_sha256` leads to a lookup at each use, which takes locks and
/// 0.15 µs, as long as the digest of 64 bytes (crypto(7), "Performance").
enum SHA256Method {
    /// The method is never changed or freed, and OpenSSL lets threads share it (EVP_MD_fetch(3)), hence the `unsafe`.
    nonisolated(unsafe) static let shared: OpaquePointer = {
        guard let method = EVP_MD_fetch(nil, "SHA256", nil) else {
            // Trap: OpenSSL is linked in with it, and its configuration is not read.
            preconditionFailure("OpenSSL has no SHA-256")
        }
        return method
    }()
}
