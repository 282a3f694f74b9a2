internal import COpenSSL

/// Secrets that were verified. A keyed hash recognises them in a microsecond, where scrypt takes 70 ms. The key is
/// random in each process, so these hashes are worthless outside of it.
struct ProvenTokens: Sendable {
    private let key = randomBytes(32)

    /// Keyed hashes of the verified secrets, by the IDs of their entries.
    private var codes: [String: [UInt8]] = [:]

    /// Most hashes. When one more is added, all are dropped, and their secrets are verified again when they are next
    /// used.
    private static let most = 1024

    /// Whether exactly this secret was verified for exactly this entry.
    func contains(_ secret: AccessSecret, of entry: AccessToken) -> Bool {
        guard let known = codes[entry.id], let code = code(secret, entry) else { return false }
        return isEqualInConstantTime(known, code)
    }

    mutating func insert(_ secret: AccessSecret, of entry: AccessToken) {
        if codes.count >= Self.most { codes.removeAll() }
        codes[entry.id] = code(secret, entry)
    }

    /// HMAC-SHA-256 over secret and entry, whose fixed lengths make the text unambiguous.
    ///
    /// - Returns: nil if OpenSSL fails. The secret then counts as not verified.
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
