internal import TransferClient

/// The flags of `transfer pull`.
enum PullFlags {
    static let all =
        [FilesFlags.from.flag, output.flag, ArchiveFlag.pull.flag] + lists + SelectionFlags.pull.all
        + choices.map(\.flag)
        + [ClientFlags.retryFor.flag] + SecurityFlags.all
        + [
            json.flag, ClientFlags.quiet.flag, ClientFlags.progress.flag, ClientFlags.colour.flag, .insecurePermissions,
            .help,
        ]

    static let output = Flag(
        name: "output", short: "o", placeholder: "DIR|FILE|-", help: "Where to put what is fetched.",
        details:
            "A directory, which is created if missing. If a single file is fetched by its name and there "
            + "is no such directory, it names the file; a trailing slash makes it a directory. For a "
            + "single file it can also be - for standard output, a device, a FIFO, /dev/stdout or "
            + "/dev/fd/N, to which the content is written.",
        value: .file
    ).text(default: ".")

    // MARK: Lists

    private static let lists = [filesFrom.flag, ClientFlags.null.flag, manifest.flag, failedTo.flag, isPreview.flag]

    static let filesFrom = Flag(
        name: "files-from", placeholder: "FILE",
        help: "Fetch the paths listed in FILE, one per line; - is standard input.",
        details:
            "A file is put under its path as listed, or the part after the last . in it: a/b.txt and "
            + "x/./a/b.txt both become a/b.txt. These paths are not patterns.", value: .file
    ).text

    static let manifest = Flag(
        name: "manifest", placeholder: "FILE",
        help: "Fetch the downloads described in FILE, one JSON object per line; - is standard input.",
        details:
            "An object has a path on the server, and optionally a name and a folder to put it under "
            + "here, as in {\"path\": \"photos/1.jpg\", \"name\": \"cover.jpg\", \"folder\": \"album\"}. "
            + "These paths are not patterns. Nothing is fetched if a line is wrong.",
        value: .file
    ).text

    static let failedTo = Flag(
        name: "failed-to", placeholder: "FILE",
        help: "Write the paths of failed downloads to FILE, for --files-from.",
        details: "With --manifest, write its lines instead. FILE is empty if nothing failed.", value: .file
    ).text

    static let isPreview = Flag(
        name: "dry-run", short: "n", help: "Print what would be fetched, without changing anything here.",
        details: "Local files are compared as usual, also by their content."
    ).isOn

    // MARK: Transfer

    static let choices = [
        ClientFlags.conflict,
        ClientFlags.serverCompression,
        ClientFlags.lanes(
            "Several connections fetch several files at once. auto uses up to 4 (1 on a machine with a "
                + "single core), and only as many as there is work for."),
        ClientFlags.digest,
        Flag(
            name: "checksum", help: "Compare local files with those on the server by their content.",
            details:
                "By default, a file with the size and modification time of that on the server is taken "
                + "as the same, without reading it."
        ).isOn.sets(\.comparesContent),
        ClientFlags.bandwidth("Limit receiving to RATE bytes per second, over all connections."),
    ]

    // MARK: Output

    static let json = FilesFlags.json("file")
}
