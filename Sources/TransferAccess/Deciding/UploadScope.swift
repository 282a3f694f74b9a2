internal import COpenSSL
package import TransferKeys
package import TransferModel

/// Separates the uploads of clients. Where frames arrive, the client's ID of an upload is translated to one that no
/// other client can name, and where frames leave, it is translated back. All code in between (parts to resume, known
/// uploads, the catalog) knows only the translated ID, and need not check to which client an upload belongs.
///
/// The translation encrypts the ID, which is one block, with AES-128 under a key made of the client's identity and a
/// secret of the server. So different IDs of one client stay different, translating back needs no table, and no client
/// can compute, or choose, the translated ID of another client's upload.
///
/// `@unchecked Sendable`: only one thread at a time uses it.
package final class UploadScope: @unchecked Sendable {
    private static let blockSize = 16

    /// Ciphers of both directions; nil if IDs are not translated.
    private let inward: OpaquePointer?
    private let outward: OpaquePointer?

    /// Does not translate IDs, for clients that cannot be distinguished.
    package init() {
        (inward, outward) = (nil, nil)
    }

    /// Translates the IDs of one client, in the same way on every connection. A key that is admitted as the owner's and
    /// also by the list belongs to one client.
    ///
    /// - Parameter secret: the server's secret. It must stay the same as long as unfinished uploads should be found
    ///   again.
    /// - Throws: `Refusal` if OpenSSL fails, because clients could then not be separated.
    package init(_ source: Grant.Source, secret: Bytes32) throws(Refusal) {
        let text: [UInt8]
        switch source {
        case .key(let key), .owner(let key): text = Array("transfer uploads of key ".utf8) + key.raw.bytes
        case .token(let id): text = Array("transfer uploads of token \(id)".utf8)
        case .listener(let name): text = Array("transfer uploads of listener \(name)".utf8)
        case .everyone:
            (inward, outward) = (nil, nil)
            return
        }
        let key = Self.key(secret, text)
        inward = key.flatMap { Self.cipher($0, encrypts: true) }
        outward = key.flatMap { Self.cipher($0, encrypts: false) }
        let sample = UploadID(high: 1, low: 2)
        guard let inward, let outward, let there = Self.translated(sample, by: inward), there != sample,
            Self.translated(there, by: outward) == sample
        else { throw .withoutCiphers }
    }

    deinit {
        EVP_CIPHER_CTX_free(inward)
        EVP_CIPHER_CTX_free(outward)
    }

    /// The server's ID of an upload.
    package func inner(_ id: UploadID) -> UploadID { Self.translated(id, inward) }

    /// The client's ID of an upload.
    package func outer(_ id: UploadID) -> UploadID { Self.translated(id, outward) }

    /// HMAC-SHA-256, cut to the length of an AES-128 key.
    private static func key(_ secret: Bytes32, _ text: [UInt8]) -> [UInt8]? {
        let key = [UInt8](unsafeUninitializedCapacity: Int(EVP_MAX_MD_SIZE)) { buffer, count in
            var size: UInt32 = 0
            let done = secret.withUnsafeBytes {
                HMAC(EVP_sha256(), $0.baseAddress, Int32($0.count), text, text.count, buffer.baseAddress, &size)
            }
            count = done == nil ? 0 : Int(size)
        }
        return key.count < blockSize ? nil : Array(key.prefix(blockSize))
    }

    private static func cipher(_ key: [UInt8], encrypts: Bool) -> OpaquePointer? {
        guard let context = EVP_CIPHER_CTX_new() else { return nil }
        guard EVP_CipherInit_ex(context, EVP_aes_128_ecb(), nil, key, nil, encrypts ? 1 : 0) == 1 else {
            EVP_CIPHER_CTX_free(context)
            return nil
        }
        EVP_CIPHER_CTX_set_padding(context, 0)
        return context
    }

    private static func translated(_ id: UploadID, _ cipher: OpaquePointer?) -> UploadID {
        guard let cipher, id != .none else { return id }
        guard let translated = translated(id, by: cipher) else {
            // Trap: `init` has tested both directions with these ciphers; another block of 16 bytes needs no memory and
            // has no state.
            preconditionFailure("OpenSSL's AES failed")
        }
        return translated
    }

    /// - Returns: nil if OpenSSL fails.
    private static func translated(_ id: UploadID, by cipher: OpaquePointer) -> UploadID? {
        var block: (UInt64, UInt64) = (id.high.bigEndian, id.low.bigEndian)
        var size: Int32 = 0
        let status = withUnsafeMutableBytes(of: &block) { bytes in
            let pointer = bytes.baseAddress?.assumingMemoryBound(to: UInt8.self)
            return EVP_CipherUpdate(cipher, pointer, &size, pointer, Int32(blockSize))
        }
        guard status == 1, size == blockSize else { return nil }
        return UploadID(high: UInt64(bigEndian: block.0), low: UInt64(bigEndian: block.1))
    }
}
