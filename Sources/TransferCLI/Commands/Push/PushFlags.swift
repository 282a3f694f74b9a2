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

    // MARK: Sources and target

    static let to = ClientFlags.server(
        "to", help: "The server to send to, and the folder to store uploads in.",
        details:
            "Write an IPv6 address in brackets. HOST:/FOLDER is the same as HOST/FOLDER. Also accepted: "
            + "a remote made with 'transfer remote add', NAME or NAME:/FOLDER, which takes precedence over "
            + "a host of that name; a URL, https://HOST[:PORT]/FOLDER/, of a server that supports tus or "
            + "PUT (see docs/reference/http.md); discover:NAME, a server that 'transfer discover' finds; a "
            + "link from the server's operator, transfer://..., in single quotes, which gives this user's "
            + "key access and makes the server a known one.")

    static let name = Flag(
        name: "name", placeholder: "NAME", help: "The name to store the upload under.",
        details: "For a single file, directory, text or standard input."
    ).text

    static let text = Flag(name: "text", placeholder: "TEXT", help: "Send TEXT as the content.").text

    static let kind = Flag(
        name: "kind", placeholder: "KIND", help: "Label the content as KIND.",
        details: "Detected from the content by default. It does not affect how the content is sent or stored."
    ).choice(of: ContentKind.self)

    static let seals = Flag(
        name: "seal", help: "Encrypt for the recipients of --for; the server can read neither content nor name.",
        details:
            "Uses the keys that the recipients have published with 'transfer whoami'; the first keys of "
            + "a recipient are remembered. The result is an age(1) file, sent uncompressed under the name "
            + "sealed.age."
    ).isOn

    /// The time to wait if `--wait-delivered` is given without a value: enough for a recipient who is connected.
    private static let usualWait = "5m"

    static let waits = FlagKey<Double?, UsageError>(
        Flag(
            name: "wait-delivered", placeholder: "DURATION",
            help: "Wait up to DURATION until all recipients of --for have received it.",
            details: "Prints the outcome for each of them. \(DurationNotation.description)", bareValue: usualWait,
            value: .duration)
    ) { (arguments, flag) throws(UsageError) in
        try arguments[flag.text].map { (text) throws(UsageError) in try arguments.duration(text, of: flag) }
    }

    // MARK: Lists

    private static let batch = [
        filesFrom.flag, ClientFlags.null.flag, manifest.flag, failedTo.flag, stopsAtFailure.flag, isDryRun.flag,
        deletesSources.flag, verifiesPictures.flag,
    ]

    static let filesFrom = Flag(
        name: "files-from", placeholder: "FILE",
        help: "Send the paths listed in FILE, one per line; - is standard input.",
        details:
            "A file is stored under its path as listed, or the part after the last . or .. in it: "
            + "a/b.txt and /x/./a/b.txt are both stored as a/b.txt.", value: .file
    ).text

    static let manifest = Flag(
        name: "manifest", placeholder: "FILE",
        help: "Send the uploads described in FILE, one JSON object per line; - is standard input.",
        details:
            "An object has a path, and optionally a name, a folder and a kind, as in {\"path\": "
            + "\"a.jpg\", \"name\": \"1.jpg\", \"folder\": \"photos\", \"kind\": \"picture\"}. Nothing is "
            + "sent if a line is wrong.",
        value: .file
    ).text

    static let failedTo = Flag(
        name: "failed-to", placeholder: "FILE",
        help: "Write the paths of failed uploads to FILE, for --files-from.",
        details: "With --manifest, write its lines instead. FILE is empty if nothing failed.",
        value: .file
    ).text

    static let stopsAtFailure = Flag(name: "fail-fast", help: "Stop at the first failure.").isOn

    static let isDryRun = Flag(
        name: "dry-run", short: "n", help: "Print what would be sent, without connecting to the server."
    ).isOn

    static let deletesSources = Flag(
        name: "delete-source",
        help: "Remove each file once the server has stored it durably, unless it has changed.",
        details: whatStays("Directories are kept, unless --archive is given and they are empty then")
    ).isOn

    static let verifiesPictures = Flag(
        name: "verify-pictures",
        help: "Let the server decode each picture, and report those that are cut off or damaged.",
        details:
            "They are stored all the same, and the exit code is 1. A picture that the server cannot decode, because of "
            + "its format or size, is only reported. With --delete-source, only pictures that were decoded are removed. Needs the right to read "
            + "on the server."
    ).isOn

    /// - Parameter directories: a clause that says which directories are kept.
    static func whatStays(_ directories: String) -> String {
        "\(directories). Also kept are files reached through a symbolic link, files that another process "
            + "has open for writing, and files that are in the server's own directory, or for which the server "
            + "does not say whether they are."
    }

    // MARK: Transfer

    static let handling: [FlagEffect<ClientConfiguration>] = [
        ClientFlags.compression(
            "Does not change what is stored. auto compresses while that makes the transfer faster: on a "
                + "slow network, and only content that gets smaller. It uses zlib or zstd, whichever is faster "
                + "on that network. An older server supports only zlib, which then replaces zstd."),
        Flag(
            name: "compress-level", placeholder: "LEVEL", help: "Compression level, 1 (fast) to 9 (small).",
            details: "With auto it applies to zlib; auto chooses the level of zstd itself."
        ).count(in: 1...9, default: ClientFlags.usual.compressionLevel).sets(\.compressionLevel),
        ClientFlags.lanes(
            "Several connections send several files at once, and a large file in parts. auto uses up to "
                + "4 (1 on a machine with a single core), only as many as there is work for, and up to 32 on a "
                + "long-distance network that loses packets, where more are faster."),
        ClientFlags.digest,
        ClientFlags.conflict,
        ClientFlags.retryFor,
        Flag(
            name: "retry", placeholder: "N",
            help: "Resend an upload up to N times if the server says that it may help.",
            details: "Applies to results such as busy or digestMismatch; 0 to 1000."
        ).count(in: 0...1000, default: ClientFlags.usual.retries).sets(\.retries),
        ClientFlags.bandwidth("Limit sending to RATE bytes per second, over all connections."),
    ]

    // MARK: Output

    private static let output = [
        json.flag, receipts.flag, verbose.flag, ClientFlags.quiet.flag, ClientFlags.progress.flag,
        ClientFlags.colour.flag,
    ]

    static let json = Flag(name: "json", help: "Print one JSON object per line for every upload.").isOn

    static let verbose = Flag(
        name: "verbose", short: "v", help: "Also print what the server already had.",
        details:
            "By default, files of directories and lists that the server already had are only counted. "
            + "Operands, changes and failures are always printed; --json prints everything."
    ).isOn

    static let receipts = Flag(
        name: "receipts", placeholder: "FILE", help: "Append a signed receipt for every stored upload to FILE.",
        details:
            "One JSON object per line, on disk when the push ends; 'transfer receipt verify' checks "
            + "them. The push fails before anything is sent if the server issues no receipts.", value: .file
    ).text
}
