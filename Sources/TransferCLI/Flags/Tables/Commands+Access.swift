extension Commands {
    static let key = Command(
        name: "key", summary: "Show this user's key, or make another.", operands: "[show|new]",
        description: [
            "Clients show servers who they are by an Ed25519 key pair. It is made when it is first needed, in "
                + "$XDG_CONFIG_HOME/transfer/key.pem (~/.config/transfer/key.pem), and never leaves this machine.",
            "Prints the public key as one line, which a server's operator gives to 'transfer access add'. new makes "
                + "another pair and keeps the old one beside it: servers have to be told.",
        ],
        flags: [Flag(name: "json", help: "Print one JSON object.", reach: .environment), .help],
        examples: [
            .init(caption: "Show the line for a server", line: "transfer key"),
            .init(caption: "Make another key", line: "transfer key new"),
        ],
        outcomes: accessOutcomes, operandValue: .oneOf(["show", "new"]))

    private static let issuedJSON = Flag(name: "json", help: "Print one JSON object, with the secret in it.")

    private static let accessJSON = Flag(name: "json", help: "Print one JSON object a line for every entry.")

    static let accessList = Command(
        name: "access list", summary: "List who may push to a server's directory by a key.",
        description: ["Prints name, fingerprint and bounds of every key, and which lines cannot be read."],
        flags: [accessDir, accessJSON, .help],
        examples: [.init(caption: "List the keys of a server", line: "transfer access list --dir /srv/in")],
        outcomes: [
            .init(.success, "all lines were read"), .init(.uploadsFailed, "a line or the whole file admits nobody"),
            .init(.usage),
        ])

    static let accessAdd = Command(
        name: "access add", summary: "Let a client push by its key.", operands: "KEY",
        description: [
            "KEY is the line that 'transfer key' prints on the client: ed25519, the key and a name. A running server takes "
                + "it into account at once."
        ],
        flags: [
            accessDir, Flag(name: "name", placeholder: "NAME", help: "Call it NAME, whatever the line says."),
        ] + bounds + [noRemove, expires, .help],
        examples: [
            .init(
                caption: "Let a camera's machine push to one folder, 20 GiB in all",
                line: "transfer access add --folder camera --quota 20G 'ed25519 AAAA...= camera'")
        ],
        outcomes: accessOutcomes)

    static let accessRemove = Command(
        name: "access remove", summary: "Let a client push no longer.", operands: "NAME|KEY",
        description: [
            "Takes a key out by its name, its fingerprint or the key itself. If its client is connected, its next upload is "
                + "refused."
        ],
        flags: [accessDir, .help],
        examples: [.init(caption: "Shut a laptop out", line: "transfer access remove laptop")],
        outcomes: accessOutcomes)

    static let accessPair = Command(
        name: "access pair", summary: "Print a line that lets one more client in.",
        description: [
            "Prints a push to be run on the other machine, with a link that has the server's address, its key and a code in "
                + "it. The first client that uses the code has its own key let in; then, or after ten minutes, the code is "
                + "worth nothing.",
            "That client may push, list and fetch, and not remove or replace what others have stored, unless flags say "
                + "otherwise. The address is that of the running server, which is asked.",
        ],
        flags: [
            accessDir,
            Flag(
                name: "advertise", placeholder: "HOST[:PORT]",
                help: "The address under which clients reach the server.",
                details:
                    "Without it, what the running server was given as --advertise, or the address that this machine "
                    + "uses on its network, and the port that the server listens on."),
            Flag(
                name: "qr", help: "Draw the link as a QR code, also where the output is no terminal.",
                details: "Needs libqrencode."),
            Flag(name: "allow-remove", help: "Let it also remove and replace what others have stored."),
        ] + bounds + [issuedJSON, .help],
        examples: [
            .init(caption: "Pair one more client", line: "transfer access pair"),
            .init(
                caption: "Pair a phone that may only push to its folder",
                line: "transfer access pair --folder phone --write-only --advertise nas.local"),
            .init(caption: "Pair your own second machine", line: "transfer access pair --allow-remove"),
        ],
        outcomes: accessOutcomes)

    static let tokenCreate = Command(
        name: "access token create", summary: "Make a token for a device or a script.",
        description: [
            "Prints a secret that lets in whoever shows it, once: the server keeps a hash of it. Clients take it from a "
                + "file, the environment or a prompt, and send it inside TLS only."
        ],
        flags: [
            accessDir, Flag(name: "name", placeholder: "NAME", help: "What to call it in lists, logs and receipts."),
        ] + bounds + [noRemove, expires, issuedJSON, .help],
        examples: [
            .init(
                caption: "Make a token for a camera, for a month",
                line: "transfer access token create --name camera --expires 30d > camera.token")
        ],
        outcomes: accessOutcomes)

    static let tokenList = Command(
        name: "access token list", summary: "List tokens and pairing codes.",
        description: ["Prints id, name and bounds of each; nobody can print its secret."],
        flags: [accessDir, accessJSON, .help],
        examples: [.init(caption: "List the tokens of a server", line: "transfer access token list --dir /srv/in")],
        outcomes: [
            .init(.success, "all lines were read"), .init(.uploadsFailed, "a line or the whole file admits nobody"),
            .init(.usage),
        ])

    static let tokenRevoke = Command(
        name: "access token revoke", summary: "Take a token or a pairing code back.", operands: "NAME|ID",
        description: ["If a client that showed it is connected, its next upload is refused."],
        flags: [accessDir, .help],
        examples: [.init(caption: "Take a camera's token back", line: "transfer access token revoke camera")],
        outcomes: accessOutcomes)

    private static let accessOutcomes: [Command.Outcome] = [
        .init(.success, "it was done"), .init(.uploadsFailed, "it could not be done"), .init(.usage),
    ]

    private static let accessDir = Flag(
        name: "dir", placeholder: "DIR", help: "The server's directory.", defaultValue: "storage", value: .folder)

    private static let bounds = [
        Flag(
            name: "folder", placeholder: "FOLDER", help: "Confine it to FOLDER below the server's directory.",
            details: "It sees nothing else, and FOLDER as the top."),
        Flag(
            name: "quota", placeholder: "SIZE", help: "Let it store so much at most.", details: sizeNotation,
            value: .size),
        Flag(name: "max-upload", placeholder: "SIZE", help: "Refuse its uploads that are larger.", value: .size),
        Flag(name: "read-only", help: "Let it read and not push."),
        Flag(name: "write-only", help: "Let it push and not read."),
    ]

    private static let noRemove = Flag(
        name: "no-remove", help: "Let it push and read, and not remove or replace what others have stored.")

    private static let expires = Flag(
        name: "expires", placeholder: "WHEN", help: "End its access then.",
        details: "A duration from now, such as 30d, or a time in UTC, such as 2026-12-31T00:00:00Z or 2026-12-31.")
}
