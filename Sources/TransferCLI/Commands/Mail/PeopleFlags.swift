private import TransferModel

/// The flags that all commands for people and mailboxes have, and what there is to say about all of them.
enum PeopleFlags {
    static let aboutPeople =
        "People are those who stand by name in the server's lists of who may come in: see 'transfer help access add'. The "
        + "connection is protected as with 'transfer push'. A server that is older, or that lets everybody in or talks without "
        + "encryption, has no mailboxes."

    static let to = ClientFlags.server(
        "to", help: "The server to ask.",
        details:
            "An IPv6 address stands in brackets. Or a remote, as 'transfer remote add' has named it. Or discover:NAME, which "
            + "'transfer discover' finds. Or a link that the server's operator gave you, transfer://... between single "
            + "quotes. A folder means nothing here.")

    static let all = [to.flag]

    /// What stands behind the flags of a command.
    static let common =
        [ClientFlags.retryFor.flag] + SecurityFlags.all + [FilesFlags.quiet.flag, .insecurePermissions, .help]

    static func access(_ arguments: ParsedArguments) throws(UsageError) -> FilesAccess {
        try FilesAccess(arguments, from: to, quiet: FilesFlags.quiet)
    }
}

extension ParsedArguments {
    /// Names of people: each value of a flag is one, or several with commas between them. `\,` is a comma in a name.
    func people(_ key: FlagKey<[String], Never>) throws(UsageError) -> [String] {
        var names: [String] = []
        for value in self[key] {
            var name: [UInt8] = []
            var isEscaped = false
            for byte in Array(value.utf8) + [UInt8(ascii: ",")] {
                if byte == UInt8(ascii: ","), !isEscaped {
                    guard !name.isEmpty, name.count <= 255 else {
                        throw error(
                            "\(source(of: key.flag)): '\(value.escapedForDisplay)' has a name without or with too many letters"
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
