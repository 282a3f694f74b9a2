extension Commands {
    /// What a remote can have beside its address: the flags of all commands that talk to servers, each once.
    static var remoteFlags: [Flag] {
        var flags: [Flag] = []
        for command in all where command.flags.contains(where: { $0.value == .server }) {
            flags += command.flags.filter { flag in
                flag.value != .server && !flags.contains { $0.name == flag.name }
            }
        }
        return flags
    }

    private static let about =
        "A remote is a server with a name, kept in ~/.config/transfer/config.toml below [remote.NAME]: its address, perhaps its "
        + "key, and flags for all pushes to it. Where a server is asked for, NAME and NAME:/FOLDER stand for it."

    private static let outcomes: [Command.Outcome] = [
        .init(.success, "it was done"), .init(.uploadsFailed, "it could not be done"), .init(.usage),
    ]

    /// Flags of a push that are worth keeping with an address.
    private static let kept = ["server-key", "token-file", "plaintext"].compactMap { push.flag(named: $0) }

    static let remoteAdd = Command(
        name: "remote add", summary: "Give a server a name.", operands: "NAME HOST[:PORT][/FOLDER]|LINK",
        description: [
            about,
            "A name has letters, digits, - and _. With a folder, all pushes go below that folder.",
            "With a link that a server's operator gave you, transfer://... between single quotes, this user's key is let in "
                + "now: the server is connected to, and its address and key are kept. The link's code is worth nothing after "
                + "that. Nothing is kept when that fails.",
        ],
        flags: kept + [.help],
        examples: [
            .init(
                caption: "Name a server that lets this user in already",
                line: "transfer remote add nas nas.local/photos"),
            .init(
                caption: "Come in by a link, then push",
                line: "transfer remote add home 'transfer://192.0.2.2:5288#code=pair_…,key=…'"),
            .init(
                caption: "Name a server and the token for it",
                line: "transfer remote add camera nas.local --token-file camera.token"),
        ],
        outcomes: outcomes + [.init(.unreachable), .init(.accessRefused), .init(.fault)])

    static let remoteList = Command(
        name: "remote list", summary: "List the servers that have names.",
        description: [about, "Prints name, address and whatever else is kept, a line for each."],
        flags: [
            Flag(name: "json", help: "Print one JSON object a line for every remote."),
            Flag(name: "names", help: "Print nothing but the names.", details: "Shells complete them by that."),
            .help,
        ],
        examples: [.init(caption: "List them", line: "transfer remote list")], outcomes: outcomes)

    static let remoteRemove = Command(
        name: "remote remove", summary: "Take the name of a server away.", operands: "NAME",
        description: [about, "The server still lets this user in, and is still known by its key."], flags: [.help],
        examples: [.init(caption: "Take one away", line: "transfer remote remove nas")], outcomes: outcomes,
        operandValue: .remote)
}
