internal import COpenSSL

extension CertifiedKey {
    /// Makes another certificate for the key.
    ///
    /// - Parameter names: valid host names and addresses.
    /// - Returns: false if the certificate could not be made. The present certificate then stays.
    func certify(names: [String], _ owner: BrowserCertificate.Owner, at now: Int64) -> Bool {
        guard let made = X509_new() else { return false }
        let isMade = describe(made, at: now) && extend(made, names, owner) && X509_sign(made, key, EVP_sha256()) > 0
        guard isMade else {
            X509_free(made)
            return false
        }
        replace(by: made)
        return true
    }

    private func describe(_ made: OpaquePointer, at now: Int64) -> Bool {
        let name = X509_get_subject_name(made)
        let start = now - BrowserCertificate.leeway
        // Serial numbers are random: browsers refuse two certificates of one issuer with the same number (RFC 5280,
        // section 4.1.2.2).
        return X509_set_version(made, Int(X509_VERSION_3)) == 1
            && ASN1_INTEGER_set_uint64(X509_get_serialNumber(made), .random(in: 1...UInt64(Int64.max))) == 1
            && ASN1_TIME_set(X509_getm_notBefore(made), time_t(start)) != nil
            && ASN1_TIME_set(X509_getm_notAfter(made), time_t(start + BrowserCertificate.lifetime)) != nil
            && X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_UTF8, "transfer", -1, -1, 0) == 1
            && X509_set_issuer_name(made, name) == 1
            && X509_set_pubkey(made, key) == 1
    }

    private func extend(_ made: OpaquePointer, _ names: [String], _ owner: BrowserCertificate.Owner) -> Bool {
        let alternatives = names.map { (BrowserCertificate.isAddress($0) ? "IP:" : "DNS:") + $0 }.joined(separator: ",")
        return Self.extend(made, NID_basic_constraints, "critical,CA:FALSE")
            && Self.extend(made, NID_key_usage, "critical,digitalSignature")
            && Self.extend(made, NID_ext_key_usage, "serverAuth")
            && Self.extend(made, NID_subject_alt_name, alternatives)
            && Self.bind(made, Self.binding(owner.key) + owner.sign(BrowserCertificate.statement + publicKey))
    }

    private static func extend(_ certificate: OpaquePointer, _ kind: Int32, _ value: String) -> Bool {
        guard let made = X509V3_EXT_nconf_nid(nil, nil, kind, value) else { return false }
        defer { X509_EXTENSION_free(made) }
        return X509_add_ext(certificate, made, -1) == 1
    }

    private static func bind(_ certificate: OpaquePointer, _ binding: [UInt8]) -> Bool {
        guard let kind = OBJ_txt2obj(BrowserCertificate.extensionName, 1) else { return false }
        defer { ASN1_OBJECT_free(kind) }
        guard let content = ASN1_OCTET_STRING_new() else { return false }
        defer { ASN1_OCTET_STRING_free(content) }
        guard ASN1_OCTET_STRING_set(content, binding, Int32(clamping: binding.count)) == 1,
            let made = X509_EXTENSION_create_by_OBJ(nil, kind, 0, content)
        else { return false }
        defer { X509_EXTENSION_free(made) }
        return X509_add_ext(certificate, made, -1) == 1
    }
}
