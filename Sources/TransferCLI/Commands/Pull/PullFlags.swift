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
        name: "output", short: "o", placeholder: "DIR|FILE|-", help: "Where to put everything.",
        details:
            "A directory, which is made if it is missing. If one file is pulled by its name, and there is no such directory, "
            + "it is the file; a slash at its end makes it a directory. - is standard output, for one file, "
            + "and so is a device, a FIFO, /dev/stdout or /dev/fd/N: the content is written into it.",
        value: .file
    ).text(default: ".")

    // MARK: Lists

    private static let lists = [filesFrom.flag, ClientFlags.null.flag, manifest.flag, failedTo.flag, isPreview.flag]

    static let filesFrom = Flag(
        name: "files-from", placeholder: "FILE",
        help: "Fetch what FILE lists, a path on each line; - is standard input.",
        details:
            "A file is put under its path as it stands there, from behind the last . in it: a/b.txt and x/./a/b.txt both "
            + "become a/b.txt. These paths are no patterns.", value: .file
    ).text

    static let manifest = Flag(
        name: "manifest", placeholder: "FILE", help: "Fetch what FILE describes, a JSON object on each line.",
        details:
            "It has a path on the server, and may have a name and a folder to put it under here, as in {\"path\": "
            + "\"photos/1.jpg\", \"name\": \"cover.jpg\", \"folder\": \"album\"}. These paths are no patterns. Nothing is "
            + "fetched if a line is wrong; - is standard input.",
        value: .file
    ).text

    static let failedTo = Flag(
        name: "failed-to", placeholder: "FILE",
        help: "Write the paths of what failed to FILE, as --files-from takes them.",
        details: "With --manifest, as that takes them. Without failures the file is empty.", value: .file
    ).text

    static let isPreview = Flag(
        name: "dry-run", short: "n", help: "Print what would be fetched, and change nothing here.",
        details: "What is here is compared as it would be, also by its content."
    ).isOn

    // MARK: How it travels

    static let choices = [
        ClientFlags.conflict,
        ClientFlags.serverCompression,
        ClientFlags.lanes(
            "Several carry several files at once. auto uses up to 4, one on a machine with a single core, and "
                + "only as many as there is work for."),
        ClientFlags.digest,
        Flag(
            name: "checksum", help: "Compare the content of files that are here with that on the server.",
            details:
                "Otherwise a file with the size and time of modification of the one on the server is taken for the "
                + "same, without reading it."
        ).isOn.sets(\.comparesContent),
        ClientFlags.bandwidth("Receive no more than RATE bytes a second, all connections together."),
    ]

    // MARK: What is printed

    static let json = FilesFlags.json("file")
}
