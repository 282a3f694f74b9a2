internal import COpenSSL
package import TransferKeys
package import TransferModel

/// Keeps the uploads of clients apart: the id that a client gives an upload is translated, where frames come in, to one
/// that no other client can name, and back where frames leave. Everything between (parts to resume, known uploads, the
/// catalog) knows the translated id alone, so none of it can forget to ask whose upload it is.
///
/// The translation is AES-128 of the id, which is one block, under a key made of who the client is and a secret of the
/// server. So two ids of one client stay two, the way back needs no table, and what other clients' ids become nobody can
/// compute or aim at.
///
/// `@unchecked Sendable`: used by one thread at a time.
package final class UploadScope: @unchecked Sendable {
    private static let blockSize = 16

    /// Nothing where nobody is told apart.
    private let inward: OpaquePointer?
    private let outward: OpaquePointer?

    /// Ids stay as they are: for clients that cannot be told apart.
    package init() {
        (inward, outward) = (nil, nil)
    }

    /// The uploads of one client, also after it comes back. A key that is admitted twice, as the owner's and in the
    /// list, is one client.
    ///
    /// - Parameter secret: of the server, the same for as long as unfinished uploads are to be found again.
    /// - Throws: when OpenSSL cannot: then nobody could be kept apart.
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

    /// The id that the server knows the upload by.
    package func inner(_ id: UploadID) -> UploadID { Self.translated(id, inward) }

    /// The id that the client knows the upload by.
    package func outer(_ id: UploadID) -> UploadID { Self.translated(id, outward) }

    /// HMAC-SHA-256, cut to the length of a key of AES-128.
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
            // Trap: `init` has tried both ways with these ciphers; another block of 16 bytes needs no memory and has no state.
            preconditionFailure("OpenSSL's AES failed")
        }
        return translated
    }

    /// - Returns: nothing where OpenSSL cannot.
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
