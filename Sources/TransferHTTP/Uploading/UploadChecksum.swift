/// The digest of the bytes of one PATCH (tus 1.0.0, checksum): `sha1 Kq5sNclPz7QV2+lfQIuc6R7oRu0=`.
package struct UploadChecksum: Equatable, Sendable {
    /// Name of the algorithm in lower case. The algorithm may be unsupported.
    package let algorithm: String

    /// The digest, 1 to 64 bytes; a known algorithm determines the size.
    package let digest: [UInt8]

    /// Sizes of digests of the algorithms that tus clients use.
    private static let lengths = ["crc32": 4, "md5": 16, "sha1": 20, "sha256": 32, "sha512": 64]

    /// Most bytes of a digest, that of SHA-512.
    package static let longest = 64

    /// - Throws: 400 unless the text is an algorithm and a digest of the right length in Base64.
    package init(_ text: String) throws(HTTPFault) {
        var reader = FieldReader(FieldSyntax.trimmed(Array(text.utf8)[...]))
        guard let name = reader.token(), reader.take(" "), let digest = Base64Text.decode(reader.rest) else {
            throw HTTPFault(400, "Upload-Checksum is not an algorithm and a digest in Base64.")
        }
        let algorithm = FieldSyntax.lowercased(name)
        guard (1...Self.longest).contains(digest.count), digest.count == Self.lengths[algorithm] ?? digest.count else {
            throw HTTPFault(400, "The digest in Upload-Checksum has the wrong length for the algorithm.")
        }
        (self.algorithm, self.digest) = (algorithm, digest)
    }
}
