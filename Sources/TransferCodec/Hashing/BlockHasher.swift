internal import COpenSSL
internal import CXXHash
package import TransferModel

/// A hash over bytes that arrive piece by piece. It can be used for one block after another.
///
/// One task at a time may use it. It holds about 0.6 KB, whatever the content.
package final class BlockHasher {
    /// The hash function, which never changes.
    package let function: DigestFunction

    private let state: HashState

    /// Makes a hasher without content.
    package init(_ function: DigestFunction) {
        self.function = function
        state = HashState(function)
    }

    deinit {
        state.free()
    }

    /// Drops all bytes so far and begins again.
    package func reset() {
        state.reset()
    }

    /// Appends any number of bytes.
    package func update(_ bytes: UnsafeRawBufferPointer) {
        state.update(bytes)
    }

    /// The digest of all bytes since the last reset, 16 or 32 bytes in the order in which `xxhsum -H2` and `sha256sum`
    /// print them. Also resets the hasher, for the next block.
    package func finish() -> [UInt8] {
        let digest = state.digest()
        state.reset()
        return digest
    }

    /// The digest of all bytes since the last reset; more bytes may follow.
    package var current: [UInt8] { state.current() }

    /// The digest of `bytes`, as `finish()` returns it, but faster than with a new hasher.
    package static func digest(_ function: DigestFunction, _ bytes: UnsafeRawBufferPointer) -> [UInt8] {
        switch function {
        case .xxh128: XXH3_128bits(bytes.baseAddress, bytes.count).canonicalBytes
        case .sha256: sha256(bytes)
        }
    }

    private static func sha256(_ bytes: UnsafeRawBufferPointer) -> [UInt8] {
        [UInt8](unsafeUninitializedCapacity: DigestFunction.sha256.size) { buffer, count in
            let status = EVP_Digest(
                bytes.baseAddress, bytes.count, buffer.baseAddress, nil, SHA256Method.shared, nil)
            // Trap: OpenSSL is linked in with its SHA-256, and a context that exists has no other reason to fail; every
            // input is valid.
            precondition(status == 1, "EVP_Digest failed")
            count = DigestFunction.sha256.size
        }
    }
}

/// Computes the digest of content from the digests of blocks.
package enum BlockTree {
    /// - Parameter digests: digests of all blocks in order, concatenated; empty for empty content.
    /// - Returns: the digest that `ContentDigester` would compute.
    package static func root(_ digests: [UInt8], _ function: DigestFunction) -> Digest {
        if digests.count == function.size { return Digest(function.plain, digests) }
        let algorithm = digests.isEmpty ? function.plain : function.tree
        return digests.withUnsafeBytes { Digest(algorithm, BlockHasher.digest(function, $0)) }
    }
}
