extension Commands {
    static let status = Command(
        name: "status", summary: "Show what the server on this machine does.",
        description: [
            "Asks the server that stores in DIR, through a socket in DIR/.transfer, which tells its own user and root: "
                + "who is connected, which uploads are in progress and how fast, how much room there is, and how much is "
                + "stored.",
            "What is stored and unfinished is looked up at most once a second, and less often where that takes long.",
        ],
        flags: [
            Flag(
                name: "dir", placeholder: "DIR", help: "The directory that the server stores in.",
                defaultValue: "storage", value: .folder),
            Flag(name: "json", help: "Print the server's answer as one JSON object; docs/JSON.md describes it."),
            .help,
        ],
        examples: [
            .init(caption: "Look what arrives", line: "transfer status --dir /srv/in"),
            .init(
                caption: "Count the connections, for a script",
                line: "transfer status --dir /srv/in --json | jq .connections.count"),
        ],
        outcomes: [
            .init(.success, "the server has answered"), .init(.usage),
            .init(.unreachable, "no server runs with the directory"),
            .init(.accessRefused, "only its user and root may ask"), .init(.fault, "the answer makes no sense"),
        ])
}
