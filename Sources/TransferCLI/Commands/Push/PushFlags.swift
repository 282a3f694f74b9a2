internal import TransferClient
internal import TransferModel

/// The flags of `transfer push`.
enum PushFlags {
    static let all =
        [to.flag, name.flag, text.flag, kind.flag, ArchiveFlag.push.flag, seals.flag, waits.flag] + batch
        + SelectionFlags.push.all
        + PushClassic.flags
        + SecurityFlags.all
        + handling.map(\.flag) + output + [.insecurePermissions, .help]

    // MARK: What is sent, and where

    static let to = ClientFlags.server(
        "to", help: "The server, and a folder there to put uploads in.",
        details:
            "An IPv6 address stands in brackets. HOST:/FOLDER is the same as HOST/FOLDER. Or a remote, as 'transfer remote add' has named it: NAME or NAME:/FOLDER, "
            + "where a name that is configured wins over a host of that name. Or a URL, https://HOST[:PORT]/FOLDER/, of any server that "
            + "speaks tus or takes PUT: see docs/reference/http.md. Or discover:NAME, which 'transfer discover' finds. Or a link that the server's operator gave you, transfer://... between "
            + "single quotes: its code has this user's key let in, and the server is known from then on.")

    static let name = Flag(
        name: "name", placeholder: "NAME", help: "The name to store the upload under.",
        details: "For a single file, directory, text or standard input."
    ).text

    static let text = Flag(name: "text", placeholder: "TEXT", help: "Send TEXT itself.").text

    static let kind = Flag(
        name: "kind", placeholder: "KIND", help: "What the content is, for programs that show it later.",
        details: "Recognised from the content when not given. The bytes are treated alike."
    ).choice(of: ContentKind.self)

    static let seals = Flag(
        name: "seal", help: "Encrypt it for those of --for: the server can neither read it nor sees its name.",
        details:
            "For the keys that they have published with 'transfer whoami', and which are known from the first time on. What is "
            + "encrypted is a file of age(1), is not compressed, and is sent under the name sealed.age."
    ).isOn

    /// Minutes that a person may take who is there and looks.
    private static let usualWait = "5m"

    static let waits = FlagKey<Double?, UsageError>(
        Flag(
            name: "wait-delivered", placeholder: "DURATION",
            help: "Wait until all of --for have it, for so long at most.",
            details: "Prints what became of it for each of them. \(DurationNotation.description)", bareValue: usualWait,
            value: .duration)
    ) { (arguments, flag) throws(UsageError) in
        try arguments[flag.text].map { (text) throws(UsageError) in try arguments.duration(text, of: flag) }
    }

    // MARK: Lists

    private static let batch = [
        filesFrom.flag, ClientFlags.null.flag, manifest.flag, failedTo.flag, stopsAtFailure.flag, isDryRun.flag,
        deletesSources.flag,
    ]

    static let filesFrom = Flag(
        name: "files-from", placeholder: "FILE",
        help: "Send what FILE lists, a path on each line; - is standard input.",
        details:
            "A file is stored under its path as it stands there, from behind the last . or .. in it: a/b.txt and "
            + "/x/./a/b.txt both become a/b.txt.", value: .file
    ).text

    static let manifest = Flag(
        name: "manifest", placeholder: "FILE", help: "Send what FILE describes, a JSON object on each line.",
        details:
            "It has a path, and may have a name, a folder and a kind, as in {\"path\": \"a.jpg\", \"name\": \"1.jpg\", "
            + "\"folder\": \"photos\", \"kind\": \"picture\"}. Nothing is sent if a line is wrong; - is standard input.",
        value: .file
    ).text

    static let failedTo = Flag(
        name: "failed-to", placeholder: "FILE",
        help: "Write the paths of what failed to FILE, as --files-from takes them.",
        details: "With --manifest, write the lines of it that failed. Without failures the file is empty.",
        value: .file
    ).text

    static let stopsAtFailure = Flag(name: "fail-fast", help: "Stop at the first failure.").isOn

    static let isDryRun = Flag(
        name: "dry-run", short: "n", help: "Print what would be sent, and connect to nothing."
    ).isOn

    static let deletesSources = Flag(
        name: "delete-source",
        help: "Remove each file when the server has made it durable and it is still the same.",
        details: whatStays("Directories are left, unless --archive is given and they are empty then")
    ).isOn

    /// - Parameter directories: the beginning of a sentence.
    static func whatStays(_ directories: String) -> String {
        "\(directories), and so is what is reached through a symbolic link. So is a file that somebody has open for writing, one "
            + "that lies in the server's own directory, and one of which the server will not say whether it does."
    }

    // MARK: How it travels

    static let handling: [FlagEffect<ClientConfiguration>] = [
        ClientFlags.compression(
            "What is stored is the same. auto compresses while that makes the content arrive sooner: on a slow "
                + "network, and only what gets smaller. It uses zlib or zstd, whichever is faster over that network. An older "
                + "server takes only zlib, and gets that for zstd as well."),
        Flag(
            name: "compress-level", placeholder: "LEVEL", help: "How hard to compress, 1 (fast) to 9 (small).",
            details: "With auto it is that of zlib; for zstd auto finds its own."
        ).count(in: 1...9, default: ClientFlags.usual.compressionLevel).sets(\.compressionLevel),
        ClientFlags.lanes(
            "Several carry several files at once, and a long file in parts. auto uses up to 4, one on a "
                + "machine with a single core, and only as many as there is work for; up to 32 over a far line that loses "
                + "packets, where more carry more."),
        ClientFlags.digest,
        ClientFlags.conflict,
        ClientFlags.retryFor,
        Flag(
            name: "retry", placeholder: "N",
            help: "How often to send an upload again when the server says that it may help.",
            details: "After results such as busy or digestMismatch, 0 to 1000."
        ).count(in: 0...1000, default: ClientFlags.usual.retries).sets(\.retries),
        ClientFlags.bandwidth("Send no more than RATE bytes a second, all connections together."),
    ]

    // MARK: What is printed

    private static let output = [
        json.flag, receipts.flag, verbose.flag, ClientFlags.quiet.flag, ClientFlags.progress.flag,
        ClientFlags.colour.flag,
    ]

    static let json = Flag(name: "json", help: "Print one JSON object a line for every upload.").isOn

    static let verbose = Flag(
        name: "verbose", short: "v", help: "Print also what the server had already.",
        details:
            "Files of directories and lists that were there already are only counted otherwise. What is named on the command "
            + "line is always printed, and so is every change and every failure. With --json everything is printed."
    ).isOn

    static let receipts = Flag(
        name: "receipts", placeholder: "FILE", help: "Append a signed receipt for every stored upload to FILE.",
        details:
            "One JSON object a line, on disk when the push ends; 'transfer receipt verify' checks them. Fails before "
            + "anything is sent if the server gives no receipts.", value: .file
    ).text
}
