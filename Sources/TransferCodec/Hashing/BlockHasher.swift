internal import COpenSSL
internal import CXXHash
package import TransferModel

/// A hash over bytes that arrive piece by piece, reusable for one block after another.
///
/// It belongs to one task at a time; about 0.6 KB of memory, whatever it is fed.
package final class BlockHasher {
    /// The hash function, for the hasher's life.
    package let function: DigestFunction

    private let state: HashState

    /// A hasher that has seen nothing yet.
    package init(_ function: DigestFunction) {
        self.function = function
        state = HashState(function)
    }

    deinit {
        state.free()
    }

    /// Forgets what it was fed.
    package func reset() {
        state.reset()
    }

    /// Appends `bytes`, any number of them, to what is being hashed.
    package func update(_ bytes: UnsafeRawBufferPointer) {
        state.update(bytes)
    }

    /// The digest of everything since the last reset, 16 or 32 bytes in the order in which `xxhsum -H2` and `sha256sum`
    /// print them. The hasher is reset and ready for the next block.
    package func finish() -> [UInt8] {
        let digest = state.digest()
        state.reset()
        return digest
    }

    /// The digest of everything since the last reset; more may follow.
    package var current: [UInt8] {
        // Trap: our own mistake; the state of SHA-256 is spent when it is read.
        precondition(function == .xxh128, "the state of this function cannot be read")
        return state.digest()
    }

    /// The digest of `bytes`, as `finish()` would give it; faster than a hasher made for one use.
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
            // Trap: OpenSSL is linked in with its SHA-256, and a context that exists has no other reason to fail; no
            // input is judged.
            precondition(status == 1, "EVP_Digest failed")
            count = DigestFunction.sha256.size
        }
    }
}

/// The digest of content whose blocks were digested apart from each other.
package enum BlockTree {
    /// - Parameter digests: of all blocks in order, one after the other; none of content without a byte.
    /// - Returns: the digest of the content, as `ContentDigester` would have made it.
    package static func root(_ digests: [UInt8], _ function: DigestFunction) -> Digest {
        if digests.count == function.size { return Digest(function.plain, digests) }
        let algorithm = digests.isEmpty ? function.plain : function.tree
        return digests.withUnsafeBytes { Digest(algorithm, BlockHasher.digest(function, $0)) }
    }
}
