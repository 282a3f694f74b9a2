internal import COpenSSL

/// ChaCha20-Poly1305 (RFC 8439) with one key. OpenSSL's context is made once and gets only a new nonce for each chunk,
/// because looking up the algorithm and expanding the key again would be a large part of the work.
///
/// It belongs to one task at a time.
final class ChunkCipher {
    /// Bytes of the authentication tag after each chunk.
    static let tagSize = 16

    enum Direction: Int32 {
        case opening = 0
        case sealing = 1
    }

    private let context: OpaquePointer
    private let direction: Direction

    /// - Parameter key: must have 32 bytes.
    init(_ direction: Direction, key: SecretBytes) throws(SealingError) {
        self.direction = direction
        context = try OpenSSL.made(EVP_CIPHER_CTX_new(), "EVP_CIPHER_CTX_new")
        let status = key.withUnsafeBytes { [context] key in
            EVP_CipherInit_ex(context, EVP_chacha20_poly1305(), nil, key.octets, nil, direction.rawValue)
        }
        try OpenSSL.check(status, "EVP_CipherInit_ex")
    }

    deinit {
        EVP_CIPHER_CTX_free(context)
    }

    /// Encrypts `input` to the beginning of `output`, followed by the tag.
    ///
    /// - Parameter output: at least 16 bytes longer than `input`.
    func seal(
        _ input: UnsafeRawBufferPointer, _ nonce: ChunkNonce, into output: UnsafeMutableRawBufferPointer
    ) throws(SealingError) {
        guard direction == .sealing, output.count - Self.tagSize >= input.count else { throw .failed("seal") }
        try run(input, nonce, into: output)
        try finish()
        let tag = output.baseAddress.map { $0 + input.count }
        let status = EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_AEAD_GET_TAG, Int32(Self.tagSize), tag)
        try OpenSSL.check(status, "EVP_CIPHER_CTX_ctrl")
    }

    /// Decrypts `input`, whose tag is at its end, to the beginning of `output`.
    ///
    /// - Parameter output: at least as long as `input` without its tag. Overwritten if authentication fails.
    /// - Returns: whether it was sealed with this key and nonce.
    func open(
        _ input: UnsafeRawBufferPointer, _ nonce: ChunkNonce, into output: UnsafeMutableRawBufferPointer
    ) throws(SealingError) -> Bool {
        let size = input.count - Self.tagSize
        guard size >= 0 else { return false }
        guard direction == .opening, output.count >= size else { throw .failed("open") }
        try run(UnsafeRawBufferPointer(rebasing: input[..<size]), nonce, into: output)
        let tag = input.baseAddress.map { UnsafeMutableRawPointer(mutating: $0 + size) }
        let status = EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_AEAD_SET_TAG, Int32(Self.tagSize), tag)
        try OpenSSL.check(status, "EVP_CIPHER_CTX_ctrl")
        // Only this failure depends on the input and not on OpenSSL.
        guard (try? finish()) != nil else {
            OPENSSL_cleanse(output.baseAddress, size)
            return false
        }
        return true
    }

    private func run(
        _ input: UnsafeRawBufferPointer, _ nonce: ChunkNonce, into output: UnsafeMutableRawBufferPointer
    ) throws(SealingError) {
        let status = EVP_CipherInit_ex(context, nil, nil, nil, nonce.bytes, direction.rawValue)
        try OpenSSL.check(status, "EVP_CipherInit_ex")
        // An empty chunk is only a tag; a null address would mean associated data to OpenSSL.
        guard !input.isEmpty else { return }
        guard let size = Int32(exactly: input.count) else { throw .failed("EVP_CipherUpdate") }
        var written: Int32 = 0
        let updated = EVP_CipherUpdate(context, output.octets, &written, input.octets, size)
        try OpenSSL.check(updated, "EVP_CipherUpdate")
        guard written == size else { throw OpenSSL.failure("EVP_CipherUpdate") }
    }

    private func finish() throws(SealingError) {
        var (nothing, written): (UInt8, Int32) = (0, 0)
        try OpenSSL.check(EVP_CipherFinal_ex(context, &nothing, &written), "EVP_CipherFinal_ex")
    }
}
