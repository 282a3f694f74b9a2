internal import COpenSSL

/// A certificate authority that issues certificates for servers during a test.
package final class CertificateAuthority {
    package struct Failure: Error {}

    /// The path of the authority's certificate in PEM, for clients that trust it.
    package let path: String

    private let pair: OpaquePointer
    private let certificate: OpaquePointer

    /// - Parameter path: where to write the authority's own certificate.
    package init(at path: String) throws {
        self.path = path
        pair = try Self.newPair()
        certificate = try Self.certificate(for: pair, name: "Test Authority", days: -2...10, serial: 1)
        X509_set_issuer_name(certificate, X509_get_subject_name(certificate))
        try Self.extend(certificate, NID_basic_constraints, "critical,CA:TRUE")
        guard X509_sign(certificate, pair, EVP_sha256()) > 0 else { throw Failure() }
        try Self.write(to: path) { PEM_write_bio_X509($0, certificate) }
    }

    deinit {
        X509_free(certificate)
        EVP_PKEY_free(pair)
    }

    /// Writes a certificate and its key.
    ///
    /// - Parameters:
    ///   - names: the names of the server, in the syntax of `subjectAltName` in x509v3_config(5).
    ///   - days: the first and the last day on which the certificate is valid, counted from now.
    ///   - signsItself: whether the certificate is self-signed instead of signed by the authority.
    package func issue(
        _ names: String, days: ClosedRange<Int> = -1...5, to path: String, key: String, signsItself: Bool = false
    ) throws {
        let own = try Self.newPair()
        defer { EVP_PKEY_free(own) }
        let leaf = try Self.certificate(for: own, name: "Test Server", days: days, serial: 2)
        defer { X509_free(leaf) }
        X509_set_issuer_name(leaf, X509_get_subject_name(signsItself ? leaf : certificate))
        try Self.extend(leaf, NID_subject_alt_name, names)
        guard X509_sign(leaf, signsItself ? own : pair, EVP_sha256()) > 0 else { throw Failure() }
        try Self.write(to: path) { PEM_write_bio_X509($0, leaf) }
        try Self.write(to: key) { PEM_write_bio_PrivateKey($0, own, nil, nil, 0, nil, nil) }
    }

    /// Makes a key pair on P-256, the curve that most servers use.
    static func newPair() throws -> OpaquePointer {
        guard let context = EVP_PKEY_CTX_new_from_name(nil, "EC", nil) else { throw Failure() }
        defer { EVP_PKEY_CTX_free(context) }
        var pair: OpaquePointer?
        guard EVP_PKEY_keygen_init(context) == 1, EVP_PKEY_CTX_set_group_name(context, "P-256") == 1,
            EVP_PKEY_generate(context, &pair) == 1, let pair
        else { throw Failure() }
        return pair
    }

    static func certificate(
        for pair: OpaquePointer, name: String, days: ClosedRange<Int>, serial: Int
    ) throws -> OpaquePointer {
        guard let certificate = X509_new() else { throw Failure() }
        X509_set_version(certificate, Int(X509_VERSION_3))
        ASN1_INTEGER_set(X509_get_serialNumber(certificate), serial)
        X509_time_adj_ex(X509_getm_notBefore(certificate), Int32(days.lowerBound), 0, nil)
        X509_time_adj_ex(X509_getm_notAfter(certificate), Int32(days.upperBound), 0, nil)
        X509_NAME_add_entry_by_txt(X509_get_subject_name(certificate), "CN", MBSTRING_UTF8, name, -1, -1, 0)
        X509_set_pubkey(certificate, pair)
        return certificate
    }

    private static func extend(_ certificate: OpaquePointer, _ kind: Int32, _ value: String) throws {
        guard let made = X509V3_EXT_nconf_nid(nil, nil, kind, value) else { throw Failure() }
        defer { X509_EXTENSION_free(made) }
        X509_add_ext(certificate, made, -1)
    }

    private static func write(to path: String, _ body: (OpaquePointer) -> Int32) throws {
        guard let file = BIO_new_file(path, "w") else { throw Failure() }
        defer { BIO_free(file) }
        guard body(file) == 1 else { throw Failure() }
    }
}
