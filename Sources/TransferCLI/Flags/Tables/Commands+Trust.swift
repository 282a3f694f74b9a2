extension Commands {
    private static let about =
        "The list of known servers says which key belongs to which address. 'transfer push' refuses a known server that shows "
        + "another one. It is the file transfer/known_servers below XDG_CONFIG_HOME, or below ~/.config."

    private static let outcomes: [Command.Outcome] = [
        .init(.success), .init(.usage), .init(.fault, "the list could not be read or changed"),
    ]

    static let trustList = Command(
        name: "trust list", summary: "List the servers whose keys are known.",
        description: [about, "Prints an address and a fingerprint a line."],
        flags: [
            Flag(name: "json", help: "Print one JSON object a line for every server.", reach: .environment), .help,
        ],
        examples: [.init(caption: "List them", line: "transfer trust list")], outcomes: outcomes)

    static let trustAdd = Command(
        name: "trust add", summary: "Know a server by its key from now on.", operands: "HOST[:PORT] FINGERPRINT",
        description: [
            about, "The server logs its fingerprint when it starts. A key that was known before is replaced.",
        ],
        flags: [.help],
        examples: [
            .init(
                caption: "Know a server before the first push",
                line: "transfer trust add nas.local SHA256:47DEQpj8HBSa+/TImW+5JCeuQeRkm5…")
        ],
        outcomes: outcomes)

    static let trustRemove = Command(
        name: "trust remove", summary: "Forget the key of a server.", operands: "HOST[:PORT]",
        description: [about, "The next push is a first contact again."], flags: [.help],
        examples: [.init(caption: "Forget a server that was set up anew", line: "transfer trust remove nas.local")],
        outcomes: [.init(.success), .init(.uploadsFailed, "the server was not known")] + outcomes.dropFirst())
}
