package import TransferKeys
package import TransferModel

/// What a client may do: the outcome of its authentication, checked again at each upload.
package struct Grant: Hashable, Sendable {
    /// What it was given for.
    package enum Source: Hashable, Sendable {
        /// A key in `authorized_keys`.
        case key(PublicKey)
        /// A token, by its id.
        case token(String)
        /// The key of the user who runs the server, from this machine.
        case owner(PublicKey)
        /// A listener, by its name, for clients that cannot show anything: whoever reaches it may do what it may.
        case listener(String)
        /// Nothing: the server admits everyone.
        case everyone
    }

    /// What clients without a line are called.
    package static let ownersName = "the server's user"
    package static let everyonesName = "anybody"

    package let source: Source

    /// What the client is called in logs and receipts; may be shown as it is.
    package let name: String

    package let options: AccessOptions

    package init(_ source: Source, name: String, options: AccessOptions = AccessOptions()) {
        (self.source, self.name, self.options) = (source, name, options)
    }

    /// The name under which it has a mailbox. Nothing for those who are in no list: anybody could have theirs.
    package var person: String? {
        switch source {
        case .key, .token: name
        case .owner, .listener, .everyone: nil
        }
    }

    /// Where a path of this client is.
    ///
    /// - Throws: `RelativePath.Fault` when it becomes too long or too deep there.
    package func stored(_ path: RelativePath) throws(RelativePath.Fault) -> RelativePath {
        guard let folder = options.folder else { return path }
        return try RelativePath("\(folder.string)/\(path.string)")
    }

    /// How this client knows what is stored at a path.
    ///
    /// - Returns: nothing for what is not below its folder.
    package func shown(_ path: RelativePath) -> RelativePath? {
        guard let folder = options.folder else { return path }
        let prefix = folder.string + "/"
        guard path.string.utf8.starts(with: prefix.utf8) else { return nil }
        return try? RelativePath(String(Substring(path.string.utf8.dropFirst(prefix.utf8.count))))
    }

    /// The largest upload that it may send to a server with this limit, in bytes.
    package func maximumUpload(of limit: UInt64) -> UInt64 { min(limit, options.maximumUpload ?? .max) }
}
