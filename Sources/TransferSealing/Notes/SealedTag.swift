package import TransferKeys

/// Names one sealed file: the digest of its header and nonce, which no other file has. Everybody who has the file can reckon it.
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
