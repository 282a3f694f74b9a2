package import TransferModel

/// An acknowledged upload for one of the files in a folder.
package struct KnownFile: Sendable {
    /// Name of the file in the folder.
    package let name: String

    package let id: UploadID

    /// A number that grows with each upload that the catalog records.
    package let number: Int64

    /// Whether the client of the query has sent it.
    package let isOwn: Bool

    /// Whether it was acknowledged as durable.
    package let isDurable: Bool

    /// The function of the acknowledged digest.
    package let function: DigestFunction

    /// The version of the stored file when the upload was acknowledged.
    package let version: ContentVersion

    package init(
        name: String, id: UploadID, number: Int64, isOwn: Bool, isDurable: Bool, function: DigestFunction,
        version: ContentVersion
    ) {
        (self.name, self.id, self.number, self.isOwn) = (name, id, number, isOwn)
        (self.isDurable, self.function, self.version) = (isDurable, function, version)
    }
}

/// A page of uploads for the files in one folder, in the order of the bytes of the files' names. Uploads of one file
/// are adjacent.
package struct KnownFiles: Sendable {
    /// The folder and the client of a question.
    package struct Query: Sendable {
        /// Nil for the server's directory itself.
        package let folder: RelativePath?

        /// Identifies the client whose uploads are `isOwn`: by its number, or by its name if it has none.
        package let client: UInt64?
        package let sender: String

        package init(_ folder: RelativePath?, client: UInt64?, sender: String) {
            (self.folder, self.client, self.sender) = (folder, client, sender)
        }

        /// The bytes that the paths of all files in the folder begin with.
        package var prefix: [UInt8] { folder.map { Array($0.string.utf8) + [UInt8(ascii: "/")] } ?? [] }

        /// Bytes that sort after all paths with the prefix.
        package var end: [UInt8] { folder.map { Array($0.string.utf8) + [UInt8(ascii: "/") + 1] } ?? [0xFF] }
    }

    package var files: [KnownFile] = []

    /// The number of uploads and skipped folders that were looked at, including uploads of other clients.
    package var looked = 0

    /// The value of `after` for the next page; nil at the end.
    package var next: [UInt8]?

    package init() {}
}
