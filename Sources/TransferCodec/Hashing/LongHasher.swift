internal import COpenSSL

/// SHA-512 (FIPS 180-4) of bytes that arrive in pieces, only for HTTP clients that request it.
///
/// One task at a time may use it.
package final class LongHasher {
    /// Size of a digest in bytes.
    private static let size = 64

    private let context: OpaquePointer

    package init() {
        // Trap: Swift itself ends the process when memory runs out, so nothing is gained by an error here.
        guard let context = EVP_MD_CTX_new() else { preconditionFailure("out of memory") }
        self.context = context
        begin()
    }

    deinit {
        EVP_MD_CTX_free(context)
    }

    package func update(_ bytes: UnsafeRawBufferPointer) {
        let status = EVP_DigestUpdate(context, bytes.baseAddress, bytes.count)
        // Trap: OpenSSL is linked in with its SHA-512, and a context that exists has no other reason to fail; every
        // input is valid.
        precondition(status == 1, "EVP_DigestUpdate failed")
    }

    /// The digest of all bytes so far, in the order in which `sha512sum` prints it. Also resets the hasher.
    package func finish() -> [UInt8] {
        defer { begin() }
        return [UInt8](unsafeUninitializedCapacity: Self.size) { buffer, count in
            let status = EVP_DigestFinal_ex(context, buffer.baseAddress, nil)
            // Trap: as above.
            precondition(status == 1, "EVP_DigestFinal_ex failed")
            count = Self.size
        }
    }

    private func begin() {
        let status = EVP_DigestInit_ex(context, EVP_sha512(), nil)
        // Trap: as above.
        precondition(status == 1, "EVP_DigestInit_ex failed")
    }
}
