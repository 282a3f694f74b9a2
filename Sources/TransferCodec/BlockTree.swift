package import TransferProtocol

/// The digest of content whose blocks were digested apart from each other.
package enum BlockTree {
    /// - Parameter digests: of all blocks in order, at least one, one after the other.
    /// - Returns: the digest of the content, as `ContentDigester` would have made it.
    package static func root(_ digests: [UInt8], _ function: DigestFunction) -> Digest {
        precondition(!digests.isEmpty && digests.count.isMultiple(of: function.size), "not the digests of blocks")
        guard digests.count > function.size else { return Digest(function.plain, digests) }
        return digests.withUnsafeBytes { Digest(function.tree, BlockHasher.digest(function, $0)) }
    }
}
