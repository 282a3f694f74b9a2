/// The digest of the bytes of one PATCH (tus 1.0.0, checksum): `sha1 Kq5sNclPz7QV2+lfQIuc6R7oRu0=`.
package struct UploadChecksum: Equatable, Sendable {
    /// The name of the algorithm, in small letters; perhaps one that this server does not have.
    package let algorithm: String

    /// 1 to 64 bytes, as many as the algorithm gives where that is known.
    package let digest: [UInt8]

    /// Bytes of the digests of algorithms that clients of tus use.
    private static let lengths = ["crc32": 4, "md5": 16, "sha1": 20, "sha256": 32, "sha512": 64]

    /// Bytes of any digest, those of SHA-512.
    package static let longest = 64

    /// - Throws: 400 when it is no algorithm and Base64 of a digest of its length.
    package init(_ text: String) throws(HTTPFault) {
        var reader = FieldReader(FieldSyntax.trimmed(Array(text.utf8)[...]))
        guard let name = reader.token(), reader.take(" "), let digest = Base64Text.decode(reader.rest) else {
            throw HTTPFault(400, "Upload-Checksum is no algorithm and Base64.")
        }
        let algorithm = FieldSyntax.lowercased(name)
        guard (1...Self.longest).contains(digest.count), digest.count == Self.lengths[algorithm] ?? digest.count else {
            throw HTTPFault(400, "The digest in Upload-Checksum has another length than its algorithm gives.")
        }
        (self.algorithm, self.digest) = (algorithm, digest)
    }
}
