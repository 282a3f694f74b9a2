package import TransferModel

/// What the catalog knows of one file in a folder: one upload that was acknowledged under its path.
package struct KnownFile: Sendable {
    /// Of the file in its folder.
    package let name: String

    package let id: UploadID

    /// Grows with each upload that the catalog comes to know.
    package let number: Int64

    /// Whether the client that is asked for has sent it.
    package let isOwn: Bool

    /// Whether it was acknowledged as durable.
    package let isDurable: Bool

    /// What its digest was computed with.
    package let function: DigestFunction

    /// The stored file's when it was acknowledged.
    package let version: ContentVersion

    package init(
        name: String, id: UploadID, number: Int64, isOwn: Bool, isDurable: Bool, function: DigestFunction,
        version: ContentVersion
    ) {
        (self.name, self.id, self.number, self.isOwn) = (name, id, number, isOwn)
        (self.isDurable, self.function, self.version) = (isDurable, function, version)
    }
}

/// Some of what the catalog knows of the files in one folder, in the order of their names' bytes, those of one file together.
package struct KnownFiles: Sendable {
    /// What is asked for.
    package struct Query: Sendable {
        /// Nothing for the server's directory itself.
        package let folder: RelativePath?

        /// Whose uploads are its own, by what tells it from others, and where nothing does by its name.
        package let client: UInt64?
        package let sender: String

        package init(_ folder: RelativePath?, client: UInt64?, sender: String) {
            (self.folder, self.client, self.sender) = (folder, client, sender)
        }

        /// What the paths of all files in the folder begin with.
        package var prefix: [UInt8] { folder.map { Array($0.string.utf8) + [UInt8(ascii: "/")] } ?? [] }

        /// A text behind all paths that begin so.
        package var end: [UInt8] { folder.map { Array($0.string.utf8) + [UInt8(ascii: "/") + 1] } ?? [0xFF] }
    }

    package var files: [KnownFile] = []

    /// What was looked at for these, that of others included: uploads, and folders that were passed over.
    package var looked = 0

    /// Where to go on, as `after`; nothing at the end.
    package var next: [UInt8]?

    package init() {}
}
