private import TransferModel

/// The flags and texts that all commands for people and mailboxes share.
enum PeopleFlags {
    static let aboutPeople =
        "People are the names in the server's lists of keys and tokens: see 'transfer help access add'. "
        + "The connection is protected as with 'transfer push'. A server that is older, was started with "
        + "--open, or has no encryption, has no mailboxes."

    static let to = ClientFlags.server(
        "to", help: "The server to ask.",
        details:
            "Write an IPv6 address in brackets. Also accepted: a remote made with 'transfer remote add'; "
            + "discover:NAME, a server that 'transfer discover' finds; a link from the server's operator, "
            + "transfer://..., in single quotes. A folder is ignored.")

    static let all = [to.flag]

    /// Flags that follow the command's own flags in the help.
    static let common =
        [ClientFlags.retryFor.flag] + SecurityFlags.all + [FilesFlags.quiet.flag, .insecurePermissions, .help]

    static func access(_ arguments: ParsedArguments) throws(UsageError) -> FilesAccess {
        try FilesAccess(arguments, from: to, quiet: FilesFlags.quiet)
    }
}

extension ParsedArguments {
    /// Reads names of people. Each value of the flag has one or more names, separated by commas. `\,` stands for a
    /// comma in a name.
    func people(_ key: FlagKey<[String], Never>) throws(UsageError) -> [String] {
        var names: [String] = []
        for value in self[key] {
            var name: [UInt8] = []
            var isEscaped = false
            for byte in Array(value.utf8) + [UInt8(ascii: ",")] {
                if byte == UInt8(ascii: ","), !isEscaped {
                    guard !name.isEmpty, name.count <= 255 else {
                        throw error(
                            "\(source(of: key.flag)): '\(value.escapedForDisplay)' contains a name that "
                                + "is empty or too long"
                        )
                    }
                    let text = String(decoding: name, as: UTF8.self)
                    if !names.contains(where: { $0.hasSameBytes(as: text) }) { names.append(text) }
                    name = []
                } else {
                    if isEscaped, byte == UInt8(ascii: ",") { name.removeLast() }
                    name.append(byte)
                }
                isEscaped = byte == UInt8(ascii: "\\") && !isEscaped
            }
        }
        return names
    }
}
