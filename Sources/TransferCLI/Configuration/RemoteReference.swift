internal import TransferClient
private import TransferModel

/// How a remote is named where a server is asked for: `NAME`, `NAME:`, `NAME:/FOLDER` or `NAME/FOLDER`.
///
/// A host can be written in all ways but the second too. A name that is configured wins; a host of that name is reached
/// with its port, `NAME:5288`, which never is a remote.
package struct RemoteReference: Equatable, Sendable {
    package let name: String

    /// Without slashes at its ends; empty for the remote's own.
    package let folder: String

    /// Whether no host is written like that.
    package let isOnlyRemote: Bool

    /// Byte by byte: in a text some letters make one character with a sign before them.
    ///
    /// - Returns: nothing for a text that cannot name a remote.
    package init?(_ text: String) {
        let bytes = text.utf8
        let word = bytes.prefix { $0 != UInt8(ascii: ":") && $0 != UInt8(ascii: "/") }
        let rest = bytes[word.endIndex...]
        let hasColon = rest.first == UInt8(ascii: ":")
        let path = hasColon ? rest.dropFirst() : rest
        isOnlyRemote = hasColon && path.isEmpty
        name = String(Substring(word))
        guard Remote.isName(name), path.isEmpty || path.first == UInt8(ascii: "/") else { return nil }
        // A link.
        guard !hasColon || !path.starts(with: "//".utf8) else { return nil }
        folder = path.split(separator: UInt8(ascii: "/")).map { String(Substring($0)) }.joined(separator: "/")
    }
}

extension ServerAddress {
    /// The server that a text names, if it is a remote's.
    ///
    /// - Parameter text: of the flag that asks for a server.
    /// - Returns: nothing for a text that may be an address.
    /// - Throws: `UsageError` for the name of a remote that is not there.
    init?(remote text: String, _ arguments: ParsedArguments) throws(UsageError) {
        guard let reference = RemoteReference(text) else { return nil }
        if let remote = arguments.remote {
            self = remote.server(reference.folder)
            return
        }
        guard reference.isOnlyRemote else { return nil }
        throw arguments.error(
            "there is no remote '\(reference.name)'; 'transfer remote list' lists the remotes, and for a "
                + "host of that name write \(reference.name):/")
    }
}
