private import TransferStore

extension Commands {
    static let serve = Command(
        name: "serve", summary: "Receive uploads into a directory.",
        description: [
            "Listens for uploads and stores them below a directory. An upload appears under its name only when all of "
                + "it has arrived, matches its digest and is on disk; then it is acknowledged.",
            "Connections are encrypted with TLS 1.3. Without --cert the server shows a key of its own, made at the first "
                + "start and kept in DIR/.transfer; clients know it by the fingerprint that is logged.",
            "Who may push is in DIR/.transfer: see 'transfer help access add'. From this machine the user who runs the server "
                + "may. If it listens to other machines and nobody there may push yet, a line is printed that lets one in.",
            "On SIGTERM or SIGINT it stops listening and gives running uploads time to finish; a second signal ends "
                + "it at once.",
            "Two processes run: when a signal ends the one that serves, the other one starts it again, and clients go on. "
                + "'transfer status' shows such ends, and DIR/.transfer/crashes has a report on each.",
            "On SIGHUP it reads its configuration and --cert and --key again, and drops no connection. The log says what has "
                + "changed and what takes a restart; when anything is wrong, all stays as it was.",
        ],
        flags: serveFlags,
        examples: [
            .init(caption: "Receive into ./storage, for programs on this machine only", line: "transfer serve"),
            .init(
                caption: "Receive from other machines, on every address",
                line: "transfer serve --dir /srv/in --listen 0.0.0.0:5288 --listen '[::]:5288'"),
            .init(
                caption: "Receive from everybody on a network where you trust everybody",
                line: "transfer serve --open --listen 0.0.0.0:5288"),
            .init(
                caption: "Show a certificate that clients trust already",
                line: "transfer serve --cert chain.pem --key key.pem --listen 0.0.0.0:5288"),
            .init(
                caption: "Log for a program to read, and refuse uploads above 4 GiB",
                line: "transfer serve --log-format json --max-upload 4G"),
        ],
        outcomes: [
            .init(.success, "it stopped because it was told to"), .init(.usage),
            .init(.fault, "it could not start or could not go on"),
        ])

    private static let serveFlags = serveBasics + serveSecurity + serveAccess + serveLimits + [.help]

    private static let serveBasics = [
        Flag(
            name: "dir", placeholder: "DIR", help: "The directory to store uploads in.", defaultValue: "storage",
            value: .folder),
        .config,
        Flag(
            name: "listen", placeholder: "ADDRESS", help: "Where to listen: HOST:PORT, [IPv6]:PORT or unix:PATH.",
            details: "May be given several times.", defaultValue: defaultAddress, isRepeatable: true),
        Flag(
            name: "durability", placeholder: "MODE", help: "What has happened to an upload when it is acknowledged.",
            details:
                "With commit, it is on disk and survives a crash of the machine. With none, nothing is synced: faster on "
                + "slow disks, and a crash can take acknowledged uploads or cut them; results then say so.",
            defaultValue: Durability.commit.flagValue, choices: Durability.flagValues),
        Flag(
            name: "no-supervise", help: "Serve in this process, and end when something ends it.",
            details:
                "Otherwise a small process holds the listening sockets and starts another server behind them when a signal "
                + "ends the one that serves: clients wait for it and go on."),
        Flag(
            name: "log-format", placeholder: "FORMAT", help: "Log as text for people or as one JSON object a line.",
            defaultValue: "text", choices: ["text", "json"]),
        Flag(
            name: "log-level", placeholder: "LEVEL", help: "Log this and everything graver.",
            defaultValue: "info", choices: ["debug", "info", "warning", "error"]),
    ]

    private static let serveSecurity = [
        Flag(
            name: "cert", placeholder: "FILE",
            help: "Show the certificate in FILE, which clients check as any TLS client does.",
            details: "In PEM, followed by those between it and a root. Needs --key.", value: .file),
        Flag(
            name: "key", placeholder: "FILE", help: "The key of --cert, in PEM and without a passphrase.",
            value: .file),
        Flag(
            name: "plaintext", help: "Talk without encryption.",
            details:
                "Everybody who reaches the server may push. On loopback addresses and Unix sockets; elsewhere only with --allow-insecure."
        ),
        Flag(
            name: "allow-insecure", help: "Talk without encryption also where others can listen in.",
            details: "Who can reach the network between can then read and change everything."),
    ]

    private static let serveAccess = [
        Flag(
            name: "open", help: "Let everybody push who reaches the server.",
            details: "Keys and tokens that it knows still have their bounds."),
        Flag(
            name: "advertise", placeholder: "HOST[:PORT]",
            help: "The address under which clients reach the server, for the line that lets one in.",
            details: "Without it, the address that this machine uses on its network, and the port it listens on."),
    ]

    private static let serveLimits = [
        Flag(
            name: "max-upload", placeholder: "SIZE", help: "Refuse uploads that are larger.",
            details: "Without it only the space on disk is the limit. " + sizeNotation, value: .size),
        Flag(
            name: "quota", placeholder: "SIZE", help: "Store at most so much below the directory.",
            details:
                "Counted are the sizes of all files in it, as ls shows them, and of uploads from their beginning on.",
            value: .size),
        Flag(
            name: "min-free", placeholder: "SIZE", help: "Refuse uploads that would leave less room on the disk.",
            value: .size),
        Flag(
            name: "expire-unfinished", placeholder: "DURATION",
            help: "Remove what has arrived of an unfinished upload when nothing was added to it for so long.",
            details: "Clients are told. Until then the same push goes on where it was interrupted.",
            defaultValue: "7d", value: .duration),
        Flag(
            name: "max-connections", placeholder: "N", help: "Serve at most so many connections at a time.",
            details: "Those who have not introduced themselves give way to newcomers. "
                + "Half of the descriptors that the process may have is the most.",
            defaultValue: "4096"),
        Flag(
            name: "max-per-address", placeholder: "N",
            help: "Serve at most so many connections from one IPv4 address or IPv6 /64 at a time.",
            details: "More are turned away. This machine's own addresses are not counted.", defaultValue: "256"),
        Flag(
            name: "silence-timeout", placeholder: "DURATION",
            help: "Drop a connection when nothing at all was heard of it for so long.",
            details: durationNotation, defaultValue: "20s", value: .duration),
        Flag(
            name: "idle-timeout", placeholder: "DURATION",
            help: "Close a connection that is alive but has had no upload for so long.", defaultValue: "10m",
            value: .duration),
        Flag(
            name: "handshake-timeout", placeholder: "DURATION",
            help: "Drop a new connection that has not introduced itself for so long.", defaultValue: "10s",
            value: .duration),
        Flag(
            name: "min-rate", placeholder: "SIZE", help: "Drop a connection whose upload is slower, in bytes a second.",
            details: "0 turns this off.", defaultValue: "1K", value: .size),
        Flag(
            name: "drain-timeout", placeholder: "DURATION",
            help: "How long running uploads may take to finish when the server is told to stop.", defaultValue: "30s",
            value: .duration),
    ]

    static let sizeNotation =
        "Sizes are bytes, or a number with K, M, G, T or KiB, MiB, GiB, TiB (powers of 1024) or KB, MB, GB, TB (powers "
        + "of 1000), such as 500, 64K or 1.5G."

    static let durationNotation =
        "Durations are seconds, or a number with ms, s, m, h or d, such as 500ms or 5m."
}
