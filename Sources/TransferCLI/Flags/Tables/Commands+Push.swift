private import TransferClient
private import TransferModel

extension Commands {
    static let push = Command(
        name: "push", summary: "Send files, directories, text or standard input.", operands: "[PATH...]",
        description: [
            "Sends every PATH and reports success only for what the server has acknowledged as stored. A directory is "
                + "sent with everything in it; - stands for standard input and needs --name.",
            "The connection is encrypted, and the server has to be the right one: it shows a key that is known (see 'transfer "
                + "help trust list') or a certificate that the system trusts. An unknown server's key is asked about on a "
                + "terminal and refused in scripts.",
            "The server knows this user by a key, which is made when it is first needed (see 'transfer help key'), or by a "
                + "token. It has to be told of the key once, unless it runs on this machine as the same user.",
            "After a lost connection it connects again and sends what was not acknowledged. Standard "
                + "input, too, goes on where it was, unless the server's machine lost power.",
            "Files that were pushed before and have the same path, size and time of modification are not sent again, as "
                + "long as the server has them.",
        ],
        flags: pushSources + pushBatch + pushSelection + pushSecurity + pushHandling + pushOutput + [.help],
        examples: pushExamples,
        outcomes: [.init(.success, "all uploads were committed")] + ExitCode.allCases.dropFirst().map { .init($0) },
        operandValue: .file)

    private static let pushSources = [
        Flag(
            name: "to", placeholder: "HOST[:PORT][/FOLDER]", help: "The server, and a folder there to put uploads in.",
            details:
                "An IPv6 address stands in brackets. Or a remote, as 'transfer remote add' has named it: NAME or NAME:/FOLDER, "
                + "where a name that is configured wins over a host of that name. Or a link that the server's operator gave you, transfer://... between "
                + "single quotes: its code has this user's key let in, and the server is known from then on.",
            defaultValue: defaultAddress,
            environment: "TRANSFER_SERVER", value: .server),
        Flag(
            name: "name", placeholder: "NAME", help: "The name to store the upload under.",
            details: "For a single file, text or standard input."),
        Flag(name: "text", placeholder: "TEXT", help: "Send TEXT itself."),
        Flag(
            name: "kind", placeholder: "KIND", help: "What the content is, for whoever looks at it later.",
            details: "Recognised from the content when not given. The bytes are treated alike.",
            choices: ContentKind.flagValues),
    ]

    static let pushSecurity = [
        Flag(
            name: "server-key", placeholder: "FINGERPRINT", help: "Talk to the server with this key and to no other.",
            details: "As the server logs it when it starts: SHA256: and 43 characters."),
        Flag(
            name: "trust-new", help: "Trust an unknown server, now and from now on, without asking.",
            details: "A known server whose key has changed is refused all the same."),
        Flag(
            name: "token-file", placeholder: "FILE", help: "Show the server the token in FILE.",
            details: "Without it, the one in the variable TRANSFER_TOKEN. A token is never an argument.",
            value: .file),
        Flag(name: "ask-token", help: "Ask for a token at the terminal."),
        Flag(
            name: "plaintext", help: "Talk without encryption, to a server that was started with --plaintext.",
            details: "Who can reach the network between can then read and change everything."),
    ]

    private static let pushHandling = [
        Flag(
            name: "compress", placeholder: "METHOD", help: "Compress content on its way.",
            details:
                "What is stored is the same. auto compresses while that makes the content arrive sooner: on a slow "
                + "network, and only what gets smaller.",
            defaultValue: "auto", choices: ClientConfiguration.Compression.flagValues),
        Flag(
            name: "compress-level", placeholder: "LEVEL", help: "How hard to compress, 1 (fast) to 9 (small).",
            defaultValue: "1"),
        Flag(
            name: "lanes", placeholder: "N|auto", help: "Connections to use at most, 1 to 16.",
            details:
                "Several carry several files at once, and a long file in parts. auto uses up to 4, one on a "
                + "machine with a single core, and only as many as there is work for.",
            defaultValue: "auto"),
        Flag(
            name: "digest", placeholder: "FUNCTION", help: "How both sides make sure that the content is the same.",
            details: "xxh128 is fast and finds every accident; sha256 also withstands an attacker.",
            defaultValue: DigestFunction.xxh128.flagValue, choices: DigestFunction.flagValues),
        Flag(
            name: "on-conflict", placeholder: "POLICY", help: "What to do when the name is taken by other content.",
            details: "keep-both stores beside it under a numbered name, overwrite replaces it, skip leaves it and "
                + "counts as success, fail leaves it and counts as a failure.",
            defaultValue: ConflictPolicy.keepBoth.flagValue, choices: ConflictPolicy.flagValues),
        Flag(
            name: "retry-for", placeholder: "DURATION",
            help: "How long to try again after a lost connection before giving up.", details: durationNotation,
            defaultValue: "60s", value: .duration),
        Flag(
            name: "retry", placeholder: "N",
            help: "How often to send an upload again when the server says that it may help.",
            details: "After results such as busy or digestMismatch, 0 to 1000.", defaultValue: "4"),
        Flag(
            name: "bandwidth", placeholder: "RATE",
            help: "Send no more than RATE bytes a second, all connections together.",
            details: "16K at least. \(sizeNotation)", value: .size),
    ]

    static let progress = Flag(
        name: "progress", placeholder: "STYLE", help: "How to show progress on standard error.",
        details:
            "bar draws it on a terminal, plain prints a line now and then, json prints objects for programs, none "
            + "nothing. auto is bar on a terminal and none elsewhere.",
        defaultValue: ProgressStyle.auto.flagValue, choices: ProgressStyle.flagValues)

    private static let pushOutput = [
        Flag(name: "json", help: "Print one JSON object a line for every upload."),
        Flag(
            name: "receipts", placeholder: "FILE", help: "Append a signed receipt for every stored upload to FILE.",
            details:
                "One JSON object a line, on disk when the push ends; 'transfer receipt verify' checks them. Fails before "
                + "anything is sent if the server gives no receipts.", value: .file),
        Flag(name: "quiet", short: "q", help: "Show no progress; errors are still printed."),
        progress,
        Flag(
            name: "color", placeholder: "WHEN", help: "Whether results have colours.",
            details: "auto is on a terminal, unless NO_COLOR is set or TERM is dumb.",
            defaultValue: ColourChoice.auto.flagValue, choices: ColourChoice.flagValues),
    ]

    private static let pushExamples: [Command.Example] = [
        .init(caption: "Send a photo", line: "transfer push photo.png"),
        .init(caption: "Send a directory with everything in it", line: "transfer push holiday/"),
        .init(
            caption: "Send what another program writes", line: "tar c logs | transfer push - --name logs.tar"),
        .init(caption: "Send a text", line: "transfer push --text 'The key is under the mat' --name note.txt"),
        .init(
            caption: "Keep the results for a script to read",
            line: "transfer push --json --quiet *.jpg > results.jsonl"),
        .init(
            caption: "Keep signed receipts, and check them later",
            line: "transfer push --receipts receipts.jsonl holiday/"),
        .init(
            caption: "Send from a script to a server that was never seen",
            line: "transfer push --server-key SHA256:uT… --to nas.local backup.tar"),
        .init(
            caption: "Send with a token that the server's operator gave you",
            line: "transfer push --token-file camera.token --to nas.local *.jpg"),
        .init(
            caption: "Send to a folder on another machine",
            line: "transfer push --to nas.local:5288/photos/2024 *.jpg"),
        .init(
            caption: "Send to a folder of a server that 'transfer remote add' has named",
            line: "transfer push photo.png --to home:/holiday"),
    ]
}
