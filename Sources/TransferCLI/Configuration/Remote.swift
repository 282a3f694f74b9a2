package import TransferClient

/// A named server in a configuration file.
package struct Remote: Equatable, Sendable {
    package let name: String

    /// The server's address, with the folder to which paths are relative.
    package let address: ServerAddress

    /// The line of the remote's header.
    let place: Setting.Place

    /// Settings of flags for commands that connect to servers, by the names of the flags.
    let settings: [String: Setting]

    /// The table that contains the remotes.
    static let table = "remote"

    /// The key of the address in a remote's table.
    static let addressKey = "address"

    /// The most bytes of a name.
    static let longestName = 64

    /// Whether a text can be a name, which must not need quotes: it has letters, digits, `-` and `_`, and does not
    /// begin with `-`. `unix` is excluded, because it begins addresses of sockets.
    static func isName(_ text: some StringProtocol) -> Bool {
        (1...longestName).contains(text.utf8.count) && text.utf8.allSatisfy(TOMLParser.isBare)
            && text.utf8.first != UInt8(ascii: "-") && text != "unix"
    }

    /// The address of a folder below the remote's own.
    package func server(_ folder: String) -> ServerAddress {
        address.below(folder)
    }
}

/// A remote to be added to a file.
struct RemoteDraft {
    let name: String

    /// The address as the value of `--to`.
    let address: String

    /// Flags of the remote with their values.
    var settings: [(key: String, value: TOMLValue)] = []

    /// The keys and values of the remote's table.
    var entries: [(key: String, value: TOMLValue)] { [(Remote.addressKey, .string(address))] + settings }
}

/// Texts that all commands for remotes share.
extension Remote {
    static let about =
        "A remote is a named server, kept below [remote.NAME] in ~/.config/transfer/config.toml with its "
        + "address, perhaps its key, and flags for commands that use it. NAME and NAME:/FOLDER can be "
        + "given wherever a server is expected."

    static let outcomes: [Command.Outcome] = [
        .init(.success, "the command succeeded"), .init(.uploadsFailed, "the command failed"), .init(.usage),
    ]
}
