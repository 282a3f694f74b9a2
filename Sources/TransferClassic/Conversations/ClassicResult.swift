package import TransferModel

/// What became of an upload, for the client.
package struct ClassicResult: Equatable, Sendable {
    package let code: ResultCode

    /// Where the content is, as the client may know it.
    package let path: String?

    /// A sentence for people.
    package let message: String?

    /// What the upload was called, or is called now where no name came with it.
    package let name: String?

    package init(_ code: ResultCode, path: String? = nil, message: String? = nil, name: String? = nil) {
        (self.code, self.path, self.message, self.name) = (code, path, message, name)
    }

    /// Whether the server has the content: not every success is one, an upload can be skipped.
    package var isStored: Bool { code == .committed || code == .alreadyStored }
}
