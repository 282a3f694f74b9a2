extension PullCommand: ProgramCommand {
    static let definition = Command(
        name: "pull", aliases: ["get"], summary: "Fetch files and folders from the server.",
        operands: "[PATH...] [DIR]",
        description: [
            "Fetches every PATH into the directory of --output, folders with everything in them. A file "
                + "appears under its name only when it is complete, verified and on disk. Modification times "
                + "and permissions are those on the server. Empty folders are created, too; --archive also "
                + "keeps links and all attributes.",
            "A PATH that does not exist on the server can be a pattern, as for --include: '*.jpg', "
                + "'photos/**/*.jpg'. Everything that matches is fetched, under its path from the first "
                + "wildcard on. Quote patterns, so that the shell does not expand them.",
            "A file is not fetched if it is already here, with the size and modification time or with "
                + "the content of that on the server. After a lost connection, and when the same command is "
                + "run again after an interruption, a large file is resumed; what has arrived is in the folder "
                + ".transfer-parts.",
            FilesFlags.aboutAccess,
        ],
        flags: PullFlags.all,
        examples: [
            .init(caption: "Fetch a file", line: "transfer pull photo.png"),
            .init(caption: "Fetch a file under another name", line: "transfer pull photo.png -o cover.png"),
            .init(
                caption: "Fetch a folder from another machine",
                line: "transfer pull nas.local:/photos/holiday pictures"),
            .init(
                caption: "Fetch the pictures of all folders, .JPG as well as .jpg",
                line: "transfer pull 'photos/**/*.jpg' --ignore-case"),
            .init(
                caption: "Fetch a folder as it is, with links and attributes",
                line: "transfer pull --archive project"),
            .init(caption: "See which files of a folder are not here yet", line: "transfer pull --dry-run holiday"),
            .init(
                caption: "Fetch everything, and replace what differs",
                line: "transfer pull / -o copy --on-conflict overwrite"),
        ],
        outcomes: [.init(.success, "everything was fetched, or was already here")] + FilesFlags.failures,
        places: .sources(into: PullFlags.output.flag))
}
