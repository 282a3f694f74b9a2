internal import COpenSSL
internal import TransferModel

/// The SHA-256 digest of some content (FIPS 180-4).
package struct SHA256Digest: Hashable, Sendable, CustomStringConvertible {
    /// Number of bytes of a digest.
    package static let size = 32

    package let bytes: [UInt8]

    /// Takes a digest that was computed elsewhere.
    ///
    /// - Returns: nil unless there are 32 bytes.
    package init?(_ bytes: [UInt8]) {
        guard bytes.count == Self.size else { return nil }
        self.bytes = bytes
    }

    init(_ hasher: consuming DigestHasher) { bytes = hasher.finish() }

    /// Computes the digest of bytes in memory.
    package init(of content: [UInt8]) {
        var hasher = DigestHasher(.sha256)
        content.withUnsafeBytes { hasher.update($0) }
        bytes = hasher.finish()
    }

    /// The digits in lower case, as in `x-amz-content-sha256`.
    package var description: String { String(hexadecimal: bytes) }
}

/// A running digest. OpenSSL's methods are looked up once in the process, because each lookup takes locks (crypto(7),
/// "Performance").
struct DigestHasher: ~Copyable {
    enum Function {
        case sha256
        /// For Content-MD5 (RFC 1864), which some engines verify although they verify no better digest.
        case md5
    }

    /// The methods are never changed or freed, and OpenSSL lets threads share them (EVP_MD_fetch(3)), hence the
    /// `unsafe`. Nil if the installed OpenSSL has no such function, as MD5 in its FIPS mode.
    private nonisolated(unsafe) static let sha256 = EVP_MD_fetch(nil, "SHA256", nil)
    private nonisolated(unsafe) static let md5 = EVP_MD_fetch(nil, "MD5", nil)

    private let context: OpaquePointer?
    private var isWorking: Bool
    private let size: Int

    init(_ function: Function) {
        let method = function == .sha256 ? Self.sha256 : Self.md5
        size = function == .sha256 ? 32 : 16
        context = EVP_MD_CTX_new()
        isWorking = method != nil && context != nil && EVP_DigestInit_ex2(context, method, nil) == 1
    }

    deinit { EVP_MD_CTX_free(context) }

    mutating func update(_ bytes: UnsafeRawBufferPointer) {
        guard isWorking, !bytes.isEmpty else { return }
        isWorking = EVP_DigestUpdate(context, bytes.baseAddress, bytes.count) == 1
    }

    /// The digest of all bytes. If OpenSSL lacks the function or memory, the digest is zeros, which no engine accepts
    /// for any content.
    consuming func finish() -> [UInt8] {
        var digest = [UInt8](repeating: 0, count: size)
        guard isWorking else { return digest }
        var count: UInt32 = 0
        guard EVP_DigestFinal_ex(context, &digest, &count) == 1, count == size else {
            return [UInt8](repeating: 0, count: size)
        }
        return digest
    }
}

/// The HMAC-SHA-256 of a text (RFC 2104).
///
/// - Returns: 32 bytes; an empty array if OpenSSL has no memory, with which no signature is valid.
func authenticationCode(_ key: [UInt8], _ text: [UInt8]) -> [UInt8] {
    [UInt8](unsafeUninitializedCapacity: Int(EVP_MAX_MD_SIZE)) { buffer, count in
        var size: UInt32 = 0
        let done = HMAC(
            EVP_sha256(), key, Int32(clamping: key.count), text, text.count, buffer.baseAddress, &size)
        count = done == nil ? 0 : Int(size)
    }
}
