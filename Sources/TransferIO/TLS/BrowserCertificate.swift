internal import COpenSSL

/// A P-256 key and a certificate for it, for those who understand no Ed25519: browsers, Schannel, older Java. It signs itself,
/// because nobody who needs it could verify a signature of the identity; an extension has one, so that it can be seen whose it
/// is.
package struct BrowserCertificate: Equatable, Sendable {
    /// Key and certificate in PEM, to be kept.
    package let pem: [UInt8]

    /// SHA-256 of the certificate in DER, which browsers show as its fingerprint.
    package let fingerprint: [UInt8]

    /// Whose it is.
    package struct Owner: Sendable {
        /// 32 bytes of an Ed25519 key.
        let key: [UInt8]
        let sign: @Sendable ([UInt8]) -> [UInt8]
        /// A signature, and what was signed.
        let verifies: @Sendable ([UInt8], [UInt8]) -> Bool

        package init(
            key: [UInt8], sign: @escaping @Sendable ([UInt8]) -> [UInt8],
            verifies: @escaping @Sendable ([UInt8], [UInt8]) -> Bool
        ) {
            (self.key, self.sign, self.verifies) = (key, sign, verifies)
        }
    }

    /// Seconds for which it is valid: Apple's systems take no more than 825 days.
    package static let lifetime: Int64 = 800 * 86_400

    /// Seconds before its end from which on another one takes its place.
    package static let renewal: Int64 = 30 * 86_400

    /// Seconds that clocks of clients may be behind.
    static let leeway: Int64 = 86_400

    /// Names in one certificate.
    package static let mostNames = 64

    /// What the identity signs, in front of the key in DER.
    static let statement = Array("transfer browser certificate 1\0".utf8)

    /// Of the extension: one of those that everybody may make, from a random UUID in pieces of at most 24 bits as Microsoft's
    /// documentation of Active Directory describes. With a UUID in one piece (2.25), GnuTLS takes no such certificate: its numbers
    /// have 64 bits.
    static let extensionName = "1.2.840.113556.1.8000.2554.36735.54979.32249.24062.35149.12536280.11077137"

    /// Makes one.
    ///
    /// - Parameters:
    ///   - names: of the server, and its addresses; what can be neither is left out.
    ///   - earlier: whose key is taken on.
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

    /// Reads what was kept.
    ///
    /// - Returns: nothing for what is no key with its certificate.
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

    /// Whether it can be shown: it has all these names, its owner has signed for it, and it lasts for a while.
    package func fits(_ names: [String], of owner: Owner, at now: Int64) -> Bool {
        guard let pair = try? handles() else { return false }
        return pair.isValid(at: now, andFor: Self.renewal) && pair.isSigned(by: owner)
            && Self.possible(names).allSatisfy { pair.covers($0) }
    }

    /// Those that a certificate can have, as far as there is room.
    private static func possible(_ names: [String]) -> [String] {
        Array(names.filter { isAddress($0) || isName($0) }.prefix(mostNames))
    }

    static func isAddress(_ text: String) -> Bool { IPAddress(text) != nil }

    /// As DNS has them (RFC 1123, section 2.1), and with the underscores that some networks use. Nothing else may stand in what
    /// OpenSSL reads names from.
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
