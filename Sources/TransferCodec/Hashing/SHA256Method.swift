internal import COpenSSL

/// OpenSSL's SHA-256, looked up once in the process: `EVP_sha256` looks it up at each use, which takes locks and 0.15
/// µs, as much as the digest of 64 bytes (crypto(7), "Performance").
enum SHA256Method {
    /// Never changed or freed after initialisation, and OpenSSL lets threads share it (EVP_MD_fetch(3)), hence the
    /// `unsafe`.
    nonisolated(unsafe) static let shared: OpaquePointer = {
        guard let method = EVP_MD_fetch(nil, "SHA256", nil) else {
            // Trap: OpenSSL is linked in with it, and its configuration is not read.
            preconditionFailure("OpenSSL has no SHA-256")
        }
        return method
    }()
}
