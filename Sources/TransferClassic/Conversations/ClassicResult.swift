package import TransferModel

/// The result of an upload, for the client.
package struct ClassicResult: Equatable, Sendable {
    package let code: ResultCode

    /// The path of the content as the client knows it; nil if it was not stored.
    package let path: String?

    /// A sentence for users; nil if the code alone is clear enough.
    package let message: String?

    /// The name of the upload, or the name made for it if it came without one.
    package let name: String?

    package init(_ code: ResultCode, path: String? = nil, message: String? = nil, name: String? = nil) {
        (self.code, self.path, self.message, self.name) = (code, path, message, name)
    }

    /// Whether the server has the content; false also for `skipped`, which is a success.
    package var isStored: Bool { code == .committed || code == .alreadyStored }
}
