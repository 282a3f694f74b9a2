package import TransferModel

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
