internal import COpenSSL

/// A P-256 key and its certificate, for clients that do not support Ed25519: browsers, Schannel, older Java. The
/// certificate is self-signed, because such clients could not verify a signature of the server's identity. An extension
/// contains that signature, so that other clients can see to which identity the certificate belongs.
package struct BrowserCertificate: Equatable, Sendable {
    /// Key and certificate in PEM, for storage.
    package let pem: [UInt8]

    /// SHA-256 of the certificate in DER, which browsers show as the certificate's fingerprint.
    package let fingerprint: [UInt8]

    /// The identity to which a certificate belongs.
    package struct Owner: Sendable {
        /// Public Ed25519 key, 32 bytes.
        let key: [UInt8]
        let sign: @Sendable ([UInt8]) -> [UInt8]
        /// Verifies a signature of the owner: takes the signature and the signed bytes.
        let verifies: @Sendable ([UInt8], [UInt8]) -> Bool

        package init(
            key: [UInt8], sign: @escaping @Sendable ([UInt8]) -> [UInt8],
            verifies: @escaping @Sendable ([UInt8], [UInt8]) -> Bool
        ) {
            (self.key, self.sign, self.verifies) = (key, sign, verifies)
        }
    }

    /// Validity in seconds: Apple's systems accept at most 825 days.
    package static let lifetime: Int64 = 800 * 86_400

    /// Seconds before the certificate expires from which on it is replaced.
    package static let renewal: Int64 = 30 * 86_400

    /// Seconds by which the clocks of clients may be slow.
    static let leeway: Int64 = 86_400

    /// Most names in one certificate.
    package static let mostNames = 64

    /// The prefix of the bytes that the identity signs. The public key in DER follows.
    static let statement = Array("transfer browser certificate 1\0".utf8)

    /// Identifier of the extension, in an arc in which anyone may make identifiers from a random UUID, split into
    /// numbers of at most 24 bits as Microsoft's documentation of Active Directory describes. GnuTLS rejects
    /// certificates with an unsplit UUID (2.25), because it limits the numbers to 64 bits.
    static let extensionName = "1.2.840.113556.1.8000.2554.36735.54979.32249.24062.35149.12536280.11077137"

    /// Makes a certificate for a server.
    ///
    /// - Parameters:
    ///   - names: host names and addresses of the server. Invalid names are left out.
    ///   - earlier: the certificate whose key is used again.
    ///   - now: seconds since 1970.
    package init(
        for names: [String], of owner: Owner, keyOf earlier: BrowserCertificate?, at now: Int64
    ) throws(TLSError) {
        let pair = if let earlier { try earlier.handles() } else { try CertifiedKey.new() }
        guard pair.certify(names: Self.possible(names), owner, at: now), let made = Self(pair) else {
            throw TLSError("No certificate for browsers can be made: \(TLSFault.taken().reason).")
        }
        self = made
    }

    /// Reads a stored certificate.
    ///
    /// - Returns: nil unless it is a key with its certificate.
    package init?(pem: [UInt8]) {
        guard let pair = CertifiedKey(pem: pem), let made = Self(pair) else { return nil }
        self = made
    }

    private init?(_ pair: CertifiedKey) {
        guard let pem = pair.pem, let fingerprint = pair.fingerprint else { return nil }
        (self.pem, self.fingerprint) = (pem, fingerprint)
    }

    func handles() throws(TLSError) -> CertifiedKey {
        guard let pair = CertifiedKey(pem: pem) else {
            throw TLSError("The certificate for browsers cannot be used: \(TLSFault.taken().reason).")
        }
        return pair
    }

    /// Whether the certificate can be used: it has all these names, its owner has signed it, and it remains valid for
    /// some time.
    package func fits(_ names: [String], of owner: Owner, at now: Int64) -> Bool {
        guard let pair = try? handles() else { return false }
        return pair.isValid(at: now, andFor: Self.renewal) && pair.isSigned(by: owner)
            && Self.possible(names).allSatisfy { pair.covers($0) }
    }

    /// The names that a certificate can have, up to the limit.
    private static func possible(_ names: [String]) -> [String] {
        Array(names.filter { isAddress($0) || isName($0) }.prefix(mostNames))
    }

    static func isAddress(_ text: String) -> Bool { IPAddress(text) != nil }

    /// Whether the text is a DNS name (RFC 1123, section 2.1), or a name with the underscores that some networks use.
    /// OpenSSL would give other characters a special meaning.
    private static func isName(_ text: String) -> Bool {
        (1...253).contains(text.utf8.count)
            && text.utf8.allSatisfy { byte in
                switch byte {
                case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                    UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"):
                    true
                default: false
                }
            }
    }
}
