internal import COpenSSL
internal import CZlib
internal import TransferModel

/// Hash functions that clients of other protocols use for pieces of an upload.
package enum ChecksumAlgorithm: String, CaseIterable, Sendable {
    case sha1, sha256, crc32
    /// XXH3-128, as in the binary protocol.
    case xxh128

    /// Size of a digest in bytes.
    package var size: Int {
        switch self {
        case .crc32: 4
        case .xxh128: 16
        case .sha1: 20
        case .sha256: 32
        }
    }
}

/// A checksum of bytes that arrive in pieces. Belongs to one task at a time.
package final class ChecksumHasher {
    private enum State {
        case own(BlockHasher)
        case sha1(OpaquePointer)
        case crc32(UInt)
    }

    package let algorithm: ChecksumAlgorithm
    private var state: State

    package init(_ algorithm: ChecksumAlgorithm) {
        self.algorithm = algorithm
        switch algorithm {
        case .sha256: state = .own(BlockHasher(.sha256))
        case .xxh128: state = .own(BlockHasher(.xxh128))
        case .crc32: state = .crc32(0)
        case .sha1:
            // Trap: Swift itself ends the process when memory runs out, so nothing is gained by an error here.
            guard let context = EVP_MD_CTX_new() else { preconditionFailure("out of memory") }
            let status = EVP_DigestInit_ex2(context, Self.sha1, nil)
            // Trap: OpenSSL is linked in with its SHA-1, and a context that exists has no other reason to fail; every
            // input is valid.
            precondition(status == 1, "EVP_DigestInit_ex2 failed")
            state = .sha1(context)
        }
    }

    deinit {
        if case .sha1(let context) = state { EVP_MD_CTX_free(context) }
    }

    /// The method is never changed or freed, and OpenSSL lets threads share it (EVP_MD_fetch(3)), hence the `unsafe`.
    nonisolated(unsafe) private static let sha1: OpaquePointer = {
        guard let method = EVP_MD_fetch(nil, "SHA1", nil) else {
            // Trap: OpenSSL is linked in with it, and its configuration is not read.
            preconditionFailure("OpenSSL has no SHA-1")
        }
        return method
    }()

    package func update(_ bytes: UnsafeRawBufferPointer) {
        switch state {
        case .own(let hasher): hasher.update(bytes)
        case .sha1(let context):
            let status = EVP_DigestUpdate(context, bytes.baseAddress, bytes.count)
            // Trap: as above.
            precondition(status == 1, "EVP_DigestUpdate failed")
        case .crc32(let value):
            let bytes = bytes.assumingMemoryBound(to: UInt8.self)
            state = .crc32(crc32_z(value, bytes.baseAddress, bytes.count))
        }
    }

    /// The digest of bytes in memory.
    package static func digest(_ algorithm: ChecksumAlgorithm, _ bytes: UnsafeRawBufferPointer) -> [UInt8] {
        let hasher = ChecksumHasher(algorithm)
        hasher.update(bytes)
        return hasher.finish()
    }

    /// The digest of all bytes so far. May be called only once.
    package func finish() -> [UInt8] {
        switch state {
        case .own(let hasher): return hasher.finish()
        case .crc32(let value):
            return withUnsafeBytes(of: UInt32(truncatingIfNeeded: value).bigEndian) { Array($0) }
        case .sha1(let context):
            return [UInt8](unsafeUninitializedCapacity: ChecksumAlgorithm.sha1.size) { buffer, count in
                let status = EVP_DigestFinal_ex(context, buffer.baseAddress, nil)
                // Trap: as above.
                precondition(status == 1, "EVP_DigestFinal_ex failed")
                count = ChecksumAlgorithm.sha1.size
            }
        }
    }
}
