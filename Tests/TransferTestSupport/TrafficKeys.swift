internal import COpenSSL

/// The keys of one direction of TLS 1.3 with AES-128-GCM and SHA-256 (RFC 8446, sections 5.2 and 7).
struct TrafficKeys {
    private static let keySize = 16
    private static let nonceSize = 12
    private static let tagSize = 16
    private static let headerSize = 5

    private var secret: [UInt8]
    private var key: [UInt8] = []
    private var nonce: [UInt8] = []
    private var sequence: UInt64 = 0

    init(_ secret: [UInt8]) {
        self.secret = secret
        derive()
    }

    /// Replaces the keys by the next ones.
    mutating func renew() {
        secret = Self.expand(secret, "traffic upd", secret.count)
        derive()
    }

    private mutating func derive() {
        key = Self.expand(secret, "key", Self.keySize)
        nonce = Self.expand(secret, "iv", Self.nonceSize)
        sequence = 0
    }

    /// HKDF-Expand-Label without a context, for at most one hash.
    private static func expand(_ secret: [UInt8], _ label: String, _ size: Int) -> [UInt8] {
        let name = Array("tls13 \(label)".utf8)
        let info = [0, UInt8(size), UInt8(name.count)] + name + [0, 1]
        var hash = [UInt8](repeating: 0, count: 32)
        HMAC(EVP_sha256(), secret, Int32(secret.count), info, info.count, &hash, nil)
        return Array(hash.prefix(size))
    }

    mutating func seal(_ kind: UInt8, _ content: [UInt8]) -> [UInt8]? {
        let count = content.count + 1 + Self.tagSize
        let header: [UInt8] = [23, 3, 3, UInt8(truncatingIfNeeded: count >> 8), UInt8(truncatingIfNeeded: count)]
        guard let sealed = crypt(content + [kind], header, tag: nil) else { return nil }
        return header + sealed
    }

    /// - Parameter record: the record with its header.
    mutating func open(_ record: [UInt8]) -> (kind: UInt8, content: [UInt8])? {
        let sealed = record.dropFirst(Self.headerSize)
        guard sealed.count > Self.tagSize,
            let inner = crypt(
                Array(sealed.dropLast(Self.tagSize)), Array(record.prefix(Self.headerSize)),
                tag: Array(sealed.suffix(Self.tagSize))),
            let last = inner.lastIndex(where: { $0 != 0 })
        else { return nil }
        return (inner[last], Array(inner[..<last]))
    }

    /// - Parameter tag: nil to encrypt; the tag is then at the end of the result.
    private mutating func crypt(_ input: [UInt8], _ header: [UInt8], tag: [UInt8]?) -> [UInt8]? {
        guard let context = EVP_CIPHER_CTX_new() else { return nil }
        defer { EVP_CIPHER_CTX_free(context) }
        let isSealing: Int32 = tag == nil ? 1 : 0
        var tag = tag ?? Array(repeating: 0, count: Self.tagSize)
        var output = [UInt8](repeating: 0, count: input.count)
        var count: Int32 = 0
        guard EVP_CipherInit_ex(context, EVP_aes_128_gcm(), nil, key, nextNonce(), isSealing) == 1,
            EVP_CipherUpdate(context, nil, &count, header, Int32(header.count)) == 1,
            EVP_CipherUpdate(context, &output, &count, input, Int32(input.count)) == 1,
            isSealing == 1 || EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_AEAD_SET_TAG, Int32(tag.count), &tag) == 1,
            EVP_CipherFinal_ex(context, nil, &count) == 1
        else { return nil }
        guard isSealing == 1 else { return output }
        guard EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_AEAD_GET_TAG, Int32(tag.count), &tag) == 1 else { return nil }
        return output + tag
    }

    private mutating func nextNonce() -> [UInt8] {
        defer { sequence += 1 }
        var nonce = nonce
        for place in 0..<8 { nonce[nonce.count - 1 - place] ^= UInt8(truncatingIfNeeded: sequence >> (8 * place)) }
        return nonce
    }
}
