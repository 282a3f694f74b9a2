package import TransferKeys

/// Identifies one sealed file: the digest of header and nonce, which no other file has. Anyone with the file can
/// compute it.
package struct SealedTag: Hashable, Sendable {
    package let digest: Bytes32

    private static let domain = Array("transfer sealed tag v1\n".utf8)

    init(_ digest: Bytes32) {
        self.digest = digest
    }

    init(_ header: SealedHeader, nonce: [UInt8]) throws(SealingError) {
        digest = try HashedKeys.digest(of: Self.domain + header.bytes + nonce)
    }
}
