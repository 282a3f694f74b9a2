/// The JSON object of an upload's result, for `push --json` and for answers to HTTP uploads.
package struct UploadDocument {
    package static let schema = "transfer.upload/1"

    /// Name that the sender uses.
    package var source: String
    package var id: UploadID
    package var result: ResultCode
    package var storedPath: String?
    package var kind: ContentKind
    /// Size of the content in bytes.
    package var size: UInt64
    package var digest: Digest?
    package var isVerified: Bool
    package var isDurable: Bool
    /// Whether the upload replaced other content.
    package var isReplacing: Bool
    package var seconds: Double
    package var attempts: Int
    package var recipients: [String]
    package var picture: Picture?
    package var isSealed: Bool
    package var isSourceDeleted: Bool
    /// A sentence for users; may be empty.
    package var message: String

    /// Properties of a picture, read from its header.
    package struct Picture {
        /// `png`, `jpeg`, `gif` or `webp`.
        package var format: String
        /// Width in pixels, as the header says.
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

    /// The object; every key is always present.
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
