/// What became of an upload, as programs read it: the object of `push --json`, and the answer to an upload over HTTP.
package struct UploadDocument {
    package static let schema = "transfer.upload/1"

    /// As the sender calls it.
    package var source: String
    package var id: UploadID
    package var result: ResultCode
    package var storedPath: String?
    package var kind: ContentKind
    /// Bytes of content.
    package var size: UInt64
    package var digest: Digest?
    package var isVerified: Bool
    package var isDurable: Bool
    /// Whether it took the place of other content.
    package var isReplacing: Bool
    package var seconds: Double
    package var attempts: Int
    package var recipients: [String]
    package var picture: Picture?
    package var isSealed: Bool
    package var isSourceDeleted: Bool
    /// A sentence for people; empty when there is nothing to say.
    package var message: String

    /// What a picture is, as its own head says.
    package struct Picture {
        /// `png`, `jpeg`, `gif` or `webp`.
        package var format: String
        /// In pixels.
        package var width: Int
        package var height: Int

        package init(format: String, width: Int, height: Int) {
            (self.format, self.width, self.height) = (format, width, height)
        }
    }

    package init(
        source: String, id: UploadID, result: ResultCode, storedPath: String?, kind: ContentKind, size: UInt64,
        digest: Digest?, isVerified: Bool = true, isDurable: Bool, isReplacing: Bool, seconds: Double,
        attempts: Int = 1, recipients: [String] = [], picture: Picture? = nil, isSealed: Bool = false,
        isSourceDeleted: Bool = false, message: String = ""
    ) {
        (self.source, self.id, self.result, self.storedPath) = (source, id, result, storedPath)
        (self.kind, self.size, self.digest) = (kind, size, digest)
        (self.isVerified, self.isDurable, self.isReplacing) = (isVerified, isDurable, isReplacing)
        (self.seconds, self.attempts, self.recipients, self.picture) = (seconds, attempts, recipients, picture)
        (self.isSealed, self.isSourceDeleted, self.message) = (isSealed, isSourceDeleted, message)
    }

    /// Every key is always there.
    package var json: JSONLine {
        [
            "schema": .string(Self.schema), "source": .string(source), "uploadID": .string(id.description),
            "result": .string(result.name), "storedPath": storedPath.map { .string($0) } ?? .null,
            "kind": .string(kind.name), "size": .integer(size),
            "digest": digest.map { .string($0.description) } ?? .null,
            "verified": .bool(isVerified), "durable": .bool(isDurable), "replaced": .bool(isReplacing),
            "seconds": .double(seconds),
            "attempts": .integer(attempts), "recipients": .array(recipients.map { .string($0) }),
            "format": picture.map { .string($0.format) } ?? .null,
            "width": picture.map { .integer($0.width) } ?? .null,
            "height": picture.map { .integer($0.height) } ?? .null,
            "sealed": .bool(isSealed), "sourceDeleted": .bool(isSourceDeleted), "message": .string(message),
        ]
    }
}
