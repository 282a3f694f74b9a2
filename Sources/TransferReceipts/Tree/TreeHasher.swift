internal import COpenSSL
package import TransferKeys

/// Computes the hashes of a Merkle tree (RFC 9162, section 2.1.1) with SHA-256: the first byte distinguishes leaves
/// from nodes, so that neither can pass for the other.
///
/// It belongs to one task at a time, and a hash needs no allocation.
package final class TreeHasher {
    private let context: OpaquePointer

    /// Looked up once in the process and never changed or freed; OpenSSL lets threads share it (EVP_MD_fetch(3)), hence
    /// the `unsafe`.
    nonisolated(unsafe) private static let method: OpaquePointer = {
        // Trap: OpenSSL is linked in with SHA-256, and its configuration is not read.
        guard let method = EVP_MD_fetch(nil, "SHA256", nil) else { preconditionFailure("OpenSSL has no SHA-256") }
        return method
    }()

    package init() {
        // Trap: Swift itself ends the process when memory runs out, so nothing is gained by an error here.
        guard let context = EVP_MD_CTX_new() else { preconditionFailure("out of memory") }
        self.context = context
    }

    deinit {
        EVP_MD_CTX_free(context)
    }

    /// The hash of a leaf: SHA-256(0x00 ‖ content).
    package func leaf(_ content: [UInt8]) -> Bytes32 {
        start()
        withUnsafeBytes(of: UInt8(0)) { update($0) }
        content.withUnsafeBytes { update($0) }
        return finish()
    }

    /// The hash of a node: SHA-256(0x01 ‖ left ‖ right).
    package func node(_ left: Bytes32, _ right: Bytes32) -> Bytes32 {
        start()
        withUnsafeBytes(of: UInt8(1)) { update($0) }
        left.withUnsafeBytes { update($0) }
        right.withUnsafeBytes { update($0) }
        return finish()
    }

    private func start() {
        let status = EVP_DigestInit_ex2(context, Self.method, nil)
        // Trap: OpenSSL is linked in with its SHA-256, and a context that exists has no other reason to fail; every
        // input is valid.
        precondition(status == 1, "EVP_DigestInit_ex2 failed")
    }

    private func update(_ bytes: UnsafeRawBufferPointer) {
        let status = EVP_DigestUpdate(context, bytes.baseAddress, bytes.count)
        // Trap: OpenSSL is linked in with its SHA-256, and a context that exists has no other reason to fail; every
        // input is valid.
        precondition(status == 1, "EVP_DigestUpdate failed")
    }

    private func finish() -> Bytes32 {
        var hash = Bytes32()
        let status = hash.withUnsafeMutableBytes {
            EVP_DigestFinal_ex(context, $0.baseAddress?.assumingMemoryBound(to: UInt8.self), nil)
        }
        // Trap: OpenSSL is linked in with its SHA-256, and a context that exists has no other reason to fail; every
        // input is valid.
        precondition(status == 1, "EVP_DigestFinal_ex failed")
        return hash
    }
}
