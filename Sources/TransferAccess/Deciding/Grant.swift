package import TransferKeys
package import TransferModel

/// The rights of a client, determined when it was authenticated and checked again before each upload.
package struct Grant: Hashable, Sendable {
    /// The reason why the client was admitted.
    package enum Source: Hashable, Sendable {
        /// A key that `authorized_keys` lists.
        case key(PublicKey)
        /// A token with this ID.
        case token(String)
        /// The key of the user who runs the server, from this machine.
        case owner(PublicKey)
        /// A listener with this name, for clients that cannot authenticate: each client that connects to it has its
        /// rights.
        case listener(String)
        /// The server admits every client.
        case everyone
    }

    /// Names of clients that have no line in a list.
    package static let ownersName = "the server's user"
    package static let everyonesName = "anybody"

    package let source: Source

    /// The client's name in logs and receipts; safe to display.
    package let name: String

    package let options: AccessOptions

    package init(_ source: Source, name: String, options: AccessOptions = AccessOptions()) {
        (self.source, self.name, self.options) = (source, name, options)
    }

    /// The name of the client's mailbox. Nil for a client that is in no list, because other clients could have the same
    /// name.
    package var person: String? {
        switch source {
        case .key, .token: name
        case .owner, .listener, .everyone: nil
        }
    }

    /// The path in the server's directory for a path that this client names.
    ///
    /// - Throws: `RelativePath.Fault` if the result is too long or too deep.
    package func stored(_ path: RelativePath) throws(RelativePath.Fault) -> RelativePath {
        guard let folder = options.folder else { return path }
        return try RelativePath("\(folder.string)/\(path.string)")
    }

    /// The path by which this client names a path in the server's directory.
    ///
    /// - Returns: nil for a path outside the client's folder.
    package func shown(_ path: RelativePath) -> RelativePath? {
        guard let folder = options.folder else { return path }
        let prefix = folder.string + "/"
        guard path.string.utf8.starts(with: prefix.utf8) else { return nil }
        return try? RelativePath(String(Substring(path.string.utf8.dropFirst(prefix.utf8.count))))
    }

    /// Largest upload of the client in bytes, if `limit` is the server's limit.
    package func maximumUpload(of limit: UInt64) -> UInt64 { min(limit, options.maximumUpload ?? .max) }
}
