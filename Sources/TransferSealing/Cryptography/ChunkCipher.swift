internal import COpenSSL

/// ChaCha20-Poly1305 (RFC 8439) under one key. OpenSSL's context is made once and gets only a new nonce for each chunk: looking
/// the algorithm up and expanding the key again would be a good part of the work.
///
/// It belongs to one task at a time.
final class ChunkCipher {
    /// Bytes of the code behind each chunk.
    static let tagSize = 16

    enum Direction: Int32 {
        case opening = 0
        case sealing = 1
    }

    private let context: OpaquePointer
    private let direction: Direction

    /// - Parameter key: 32 bytes.
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

    /// Encrypts `input` to the front of `output`, with its tag behind it.
    ///
    /// - Parameter output: 16 bytes more than `input`, or longer.
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

    /// Decrypts `input`, with the tag at its end, to the front of `output`.
    ///
    /// - Parameter output: as much as `input` without its tag, or longer. Unless all is well it is overwritten.
    /// - Returns: whether it is what was sealed under this key and this nonce.
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
        // The only answer that tells of the input and not of OpenSSL.
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
        // An empty chunk is its tag alone; without an address OpenSSL would take it for data that is only authenticated.
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
