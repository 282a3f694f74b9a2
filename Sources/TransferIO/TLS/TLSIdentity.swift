/// What one side proves to be.
package enum TLSIdentity: Sendable {
    /// An Ed25519 key, shown in a certificate that it signs itself.
    ///
    /// - Parameter seed: 32 bytes (RFC 8032, section 5.1.5).
    case ed25519(seed: [UInt8])

    /// A certificate with those between it and a root, and its key; paths of PEM files.
    case files(certificate: String, key: String)
}
