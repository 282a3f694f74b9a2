private import TransferClient
private import TransferModel
private import TransferProtocol

/// Commands for what is stored already.
extension Commands {
    private static let aboutAccess =
        "The connection is protected as with 'transfer push', and this user may need a key or token that the server knows. "
        + "Paths are below the folder that the server gives this user, and below that of --from."

    private static let from = Flag(
        name: "from", placeholder: "HOST[:PORT][/FOLDER]", help: "The server, and a folder there that paths are below.",
        details:
            "An IPv6 address stands in brackets. Or a remote, as 'transfer remote add' has named it: NAME or NAME:/FOLDER. Or a link that the server's operator gave you, transfer://... between "
            + "single quotes.",
        defaultValue: defaultAddress, environment: "TRANSFER_SERVER", value: .server)

    private static let retryFor = Flag(
        name: "retry-for", placeholder: "DURATION",
        help: "How long to try again after a lost connection before giving up.", details: durationNotation,
        defaultValue: "60s", value: .duration)

    private static let quiet = Flag(name: "quiet", short: "q", help: "Say nothing that is no result and no error.")

    private static func json(_ what: String) -> Flag {
        Flag(name: "json", help: "Print one JSON object a line for every \(what).")
    }

    private static let failures = ExitCode.allCases.dropFirst().map {
        Command.Outcome($0, $0 == .uploadsFailed ? "something could not be done; what is said about it" : nil)
    }

    static let list = Command(
        name: "list", summary: "List what is in a folder on the server.", operands: "[FOLDER]",
        description: [
            "Prints what is in FOLDER, or in the folder of --from, a path a line. A slash stands behind a folder. Lists are "
                + "sorted by name, for which they are held in memory, some 250 bytes for each entry; --unsorted prints at once "
                + "and holds nothing.",
            aboutAccess,
        ],
        flags: [
            from, Flag(name: "long", short: "l", help: "Print size, time of modification (UTC), kind and path."),
            json("entry"), Flag(name: "tree", help: "Draw the folder and all below it as a tree."),
            Flag(name: "recursive", short: "R", help: "List the folders in it as well."),
            Flag(name: "unsorted", short: "U", help: "Print entries as they come, in no order."), retryFor,
        ] + pushSecurity + [quiet, .help],
        examples: [
            .init(caption: "See what is on the server of this machine", line: "transfer list"),
            .init(
                caption: "See a folder on another machine", line: "transfer list photos/2024 --long --from nas.local"),
            .init(
                caption: "Keep the digests of all files for a script to read",
                line: "transfer list --recursive --json --from nas.local > files.jsonl"),
        ],
        outcomes: [.init(.success, "everything was listed")] + failures)

    static let stat = Command(
        name: "stat", summary: "Print what the server knows of files and folders.", operands: "PATH...",
        description: [
            "Prints size, time of modification, permissions, and for files that were pushed there and have not changed since "
                + "their kind, digest and the time when they were stored.",
            aboutAccess,
        ],
        flags: [from, json("path"), retryFor] + pushSecurity + [quiet, .help],
        examples: [
            .init(caption: "Look at a file", line: "transfer stat photos/one.jpg --from nas.local"),
            .init(
                caption: "Read a file's digest in a script", line: "transfer stat --json photo.png > photo.json"),
        ],
        outcomes: [.init(.success, "all were found")] + failures)

    static let cat = Command(
        name: "cat", summary: "Print the content of files on the server.", operands: "PATH...",
        description: [
            "Writes each file to standard output, piece by piece: a piece of up to 4 MiB when it is verified, and no byte before. "
                + "When the exit code is not 0, what was written is not all of it.",
            aboutAccess,
        ],
        flags: [from, retryFor] + pushSecurity + [quiet, .help],
        examples: [
            .init(caption: "Read a note", line: "transfer cat notes/today.txt --from nas.local"),
            .init(caption: "Unpack an archive without keeping it", line: "transfer cat logs.tar > logs.tar"),
        ],
        outcomes: [.init(.success, "everything was written")] + failures)

    static let remove = Command(
        name: "remove", summary: "Remove files and folders on the server.", operands: "PATH...",
        description: [
            "Removes each PATH for good. What is reported as removed is gone from the server's disk, and what it took of a quota "
                + "is free. A folder is removed with --recursive only.",
            aboutAccess,
        ],
        flags: [
            from, Flag(name: "recursive", short: "r", help: "Remove folders with all that is in them."), json("path"),
            retryFor,
        ] + pushSecurity + [quiet, .help],
        examples: [
            .init(caption: "Remove a file", line: "transfer remove photos/blurred.jpg --from nas.local"),
            .init(caption: "Remove a folder", line: "transfer remove --recursive photos/2019 --from nas.local"),
        ],
        outcomes: [.init(.success, "all are removed")] + failures)

    static let pull = Command(
        name: "pull", summary: "Fetch files and folders from the server.", operands: "PATH...",
        description: [
            "Fetches every PATH into the directory of --output, a folder with everything in it. A file has its name when all of it "
                + "is there, verified and on disk, and not before. Times of modification and permissions are those on the "
                + "server.",
            "A file that is here already with the same content is not fetched. After a lost connection, and when the same "
                + "command is run again after it was interrupted, a long file goes on where it was: what has arrived "
                + "waits in the folder .transfer-parts.",
            aboutAccess,
        ],
        flags: [
            from,
            Flag(
                name: "output", short: "o", placeholder: "DIR", help: "The directory to put everything in.",
                details: "It is made if it is missing.", defaultValue: ".", value: .folder),
            Flag(
                name: "on-conflict", placeholder: "POLICY", help: "What to do when the name is taken by other content.",
                details: "keep-both stores beside it under a numbered name, overwrite replaces it, skip leaves it and "
                    + "counts as success, fail leaves it and counts as a failure.",
                defaultValue: ConflictPolicy.keepBoth.flagValue, choices: ConflictPolicy.flagValues),
            Flag(
                name: "lanes", placeholder: "N|auto", help: "Connections to use at most, 1 to 16.",
                details:
                    "Several carry several files at once. auto uses up to 4, one on a machine with a single core, and "
                    + "only as many as there is work for.",
                defaultValue: "auto"),
            Flag(
                name: "digest", placeholder: "FUNCTION", help: "How both sides make sure that the content is the same.",
                details: "xxh128 is fast and finds every accident; sha256 also withstands an attacker.",
                defaultValue: DigestFunction.xxh128.flagValue, choices: DigestFunction.flagValues),
            json("file"), retryFor,
        ] + pushSecurity + [
            Flag(name: "quiet", short: "q", help: "Show no progress; errors are still printed."), progress, .help,
        ],
        examples: [
            .init(caption: "Fetch a file", line: "transfer pull photo.png"),
            .init(
                caption: "Fetch a folder from another machine",
                line: "transfer pull holiday -o pictures --from nas.local:5288/photos"),
            .init(caption: "Fetch everything, as it is now", line: "transfer pull / -o copy --on-conflict overwrite"),
        ],
        outcomes: [.init(.success, "everything is here")] + failures)
}
