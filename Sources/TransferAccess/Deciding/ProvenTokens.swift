internal import COpenSSL

/// Tokens whose secrets were hashed and found right: a keyed hash that takes a microsecond tells them again, where
/// scrypt would take 70 ms. The key is random and of this process alone, so what is in here is worth nothing to
/// anybody.
struct ProvenTokens: Sendable {
    private let key = randomBytes(32)

    /// By the ids of their entries.
    private var codes: [String: [UInt8]] = [:]

    /// When there are more, all are forgotten and hashed again.
    private static let most = 1024

    /// Whether this very secret was found right for this very entry.
    func contains(_ secret: AccessSecret, of entry: AccessToken) -> Bool {
        guard let known = codes[entry.id], let code = code(secret, entry) else { return false }
        return isEqualInConstantTime(known, code)
    }

    mutating func insert(_ secret: AccessSecret, of entry: AccessToken) {
        if codes.count >= Self.most { codes.removeAll() }
        codes[entry.id] = code(secret, entry)
    }

    /// HMAC-SHA-256 over secret and entry; of fixed lengths, so that no two texts are alike.
    ///
    /// - Returns: nothing where OpenSSL cannot; then the secret is hashed again.
    private func code(_ secret: AccessSecret, _ entry: AccessToken) -> [UInt8]? {
        let text = Array("\(secret.text) \(entry.id) \(entry.hash)".utf8)
        let code = [UInt8](unsafeUninitializedCapacity: Int(EVP_MAX_MD_SIZE)) { buffer, count in
            var size: UInt32 = 0
            let done = HMAC(EVP_sha256(), key, Int32(key.count), text, text.count, buffer.baseAddress, &size)
            count = done == nil ? 0 : Int(size)
        }
        return code.isEmpty ? nil : code
    }
}
