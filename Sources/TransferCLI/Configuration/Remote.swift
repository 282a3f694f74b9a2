package import TransferClient

/// A server with a name, as a configuration file has it.
package struct Remote: Equatable, Sendable {
    package let name: String

    /// With the folder that its other folders are below.
    package let address: ServerAddress

    /// Where its header stands.
    let place: Setting.Place

    /// Of the commands that talk to servers, by the names of their flags.
    let settings: [String: Setting]

    /// The table that remotes are below.
    static let table = "remote"

    /// The key of the address.
    static let addressKey = "address"

    /// Bytes of a name; for people, who type it.
    static let longestName = 64

    /// Whether a text can be a name: letters, digits, `-` and `_`, none of the dashes first, so that it needs no quotes
    /// anywhere. `unix` is how addresses of sockets begin.
    static func isName(_ text: some StringProtocol) -> Bool {
        (1...longestName).contains(text.utf8.count) && text.utf8.allSatisfy(TOMLParser.isBare)
            && text.utf8.first != UInt8(ascii: "-") && text != "unix"
    }

    /// The server, and a folder below its own.
    package func server(_ folder: String) -> ServerAddress {
        address.below(folder)
    }
}

/// A remote that is to be written.
struct RemoteDraft {
    let name: String

    /// As it is written after `--to`.
    let address: String

    /// Flags of a push, with their values.
    var settings: [(key: String, value: TOMLValue)] = []

    /// The lines of its table.
    var entries: [(key: String, value: TOMLValue)] { [(Remote.addressKey, .string(address))] + settings }
}

/// What there is to say about all commands for remotes.
extension Remote {
    static let about =
        "A remote is a named server, kept below [remote.NAME] in ~/.config/transfer/config.toml with its "
        + "address, perhaps its key, and flags for commands that use it. NAME and NAME:/FOLDER can be "
        + "given wherever a server is expected."

    static let outcomes: [Command.Outcome] = [
        .init(.success, "the command succeeded"), .init(.uploadsFailed, "the command failed"), .init(.usage),
    ]
}
