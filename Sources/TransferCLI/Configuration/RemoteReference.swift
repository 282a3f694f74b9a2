internal import TransferClient
private import TransferModel

/// The name of a remote as the value of a flag or operand: `NAME`, `NAME:`, `NAME:/FOLDER` or `NAME/FOLDER`.
///
/// A host can be written in all of these forms except the second. If a remote has the name, the text means the remote.
/// A host of that name can then be given with its port, `NAME:5288`, which is never a remote.
package struct RemoteReference: Equatable, Sendable {
    package let name: String

    /// The folder without slashes at its ends; empty for the folder of the remote itself.
    package let folder: String

    /// Whether the form is `NAME:`, which is never a host.
    package let isOnlyRemote: Bool

    /// Reads the text by bytes: as characters, a combining mark would join with the separator before it.
    ///
    /// - Returns: nil for a text that cannot name a remote.
    package init?(_ text: String) {
        let bytes = text.utf8
        let word = bytes.prefix { $0 != UInt8(ascii: ":") && $0 != UInt8(ascii: "/") }
        let rest = bytes[word.endIndex...]
        let hasColon = rest.first == UInt8(ascii: ":")
        let path = hasColon ? rest.dropFirst() : rest
        isOnlyRemote = hasColon && path.isEmpty
        name = String(Substring(word))
        guard Remote.isName(name), path.isEmpty || path.first == UInt8(ascii: "/") else { return nil }
        // A text with `://` is a link.
        guard !hasColon || !path.starts(with: "//".utf8) else { return nil }
        folder = path.split(separator: UInt8(ascii: "/")).map { String(Substring($0)) }.joined(separator: "/")
    }
}

extension ServerAddress {
    /// The address that a text stands for, if it names a remote.
    ///
    /// - Parameter text: the value of the flag for the server.
    /// - Returns: nil for a text that may be an address.
    /// - Throws: `UsageError` for `NAME:` if there is no such remote.
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
