import TransferCodec
import TransferHTTP
import TransferModel
import TransferStore

/// What the sender of a piece says that its digest is, in front of it or behind it. Belongs to one task at a time.
final class PieceChecksum {
    private enum Form {
        /// `Upload-Checksum` (tus 1.0.0, checksum).
        case tus
        /// `Content-Digest` (RFC 9530), of which SHA-256 is compared.
        case contentDigest
    }

    private let form: Form
    /// Several where only the trailers tell which it is.
    private let hashers: [ChecksumHasher]
    private let declared: (algorithm: ChecksumAlgorithm, digest: [UInt8])?

    private init(_ form: Form, _ algorithms: [ChecksumAlgorithm], _ declared: (ChecksumAlgorithm, [UInt8])?) {
        (self.form, self.declared) = (form, declared)
        hashers = algorithms.map { ChecksumHasher($0) }
    }

    /// - Returns: nothing where nothing is said.
    /// - Throws: 400 for an algorithm that this server does not have.
    static func tus(_ fields: HTTPFields) throws(HTTPFault) -> PieceChecksum? {
        if let declared = try tusDigest(fields) { return PieceChecksum(.tus, [declared.0], declared) }
        guard announces(fields, "upload-checksum") else { return nil }
        return PieceChecksum(.tus, ChecksumAlgorithm.allCases, nil)
    }

    /// - Returns: nothing where nothing is said.
    /// - Throws: 400 where it says something that cannot be compared.
    static func contentDigest(_ fields: HTTPFields) throws(HTTPFault) -> PieceChecksum? {
        if let digest = try sha256(fields) { return PieceChecksum(.contentDigest, [.sha256], (.sha256, digest)) }
        guard announces(fields, "content-digest") else { return nil }
        return PieceChecksum(.contentDigest, [.sha256], nil)
    }

    func update(_ bytes: UnsafeRawBufferPointer) {
        for hasher in hashers { hasher.update(bytes) }
    }

    /// Compares what has come with what its sender says of it. To be called once.
    ///
    /// - Throws: `digestMismatch`; `malformedFrame` for what cannot be compared.
    func check(_ trailers: HTTPFields) throws(Failure) {
        do throws(HTTPFault) {
            let behind = try form == .tus ? Self.tusDigest(trailers) : Self.sha256(trailers).map { (.sha256, $0) }
            guard declared != nil || behind != nil else {
                throw HTTPFault(400, "The digest that was announced is missing.")
            }
            let computed = hashers.map { ($0.algorithm, $0.finish()) }
            for wanted in [declared, behind].compactMap(\.self) {
                guard computed.contains(where: { $0.0 == wanted.0 && $0.1 == wanted.1 }) else {
                    throw HTTPFault(460, "")
                }
            }
        } catch {
            guard error.status == 460 else { throw Failure(.malformedFrame, error.message) }
            throw Failure(
                .digestMismatch, "The piece arrived with another digest than its sender gave: send it again.")
        }
    }

    private static func tusDigest(_ fields: HTTPFields) throws(HTTPFault) -> (ChecksumAlgorithm, [UInt8])? {
        guard let text = try fields.only("upload-checksum") else { return nil }
        let checksum = try UploadChecksum(text)
        guard let algorithm = ChecksumAlgorithm(rawValue: checksum.algorithm) else {
            throw HTTPFault(400, "The checksums that are compared here are \(offer).")
        }
        return (algorithm, checksum.digest)
    }

    private static func sha256(_ fields: HTTPFields) throws(HTTPFault) -> [UInt8]? {
        guard let field = try DigestField(fields.values("content-digest")) else { return nil }
        guard let digest = field.sha256 else {
            throw HTTPFault(400, "Of digests, sha-256 is compared here: say that one.")
        }
        return digest
    }

    private static func announces(_ fields: HTTPFields, _ name: String) -> Bool {
        fields.list("trailer").contains { HTTPCharacter.areSame($0.utf8, name) }
    }

    /// The value of `Tus-Checksum-Algorithm`.
    static let offer = ChecksumAlgorithm.allCases.map(\.rawValue).joined(separator: ",")
}
