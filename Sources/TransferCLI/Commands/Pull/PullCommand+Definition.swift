extension PullCommand: ProgramCommand {
    static let definition = Command(
        name: "pull", aliases: ["get"], summary: "Fetch files and folders from the server.",
        operands: "[PATH...] [DIR]",
        description: [
            "Fetches every PATH into the directory of --output, a folder with everything in it. A file has its name when all of it "
                + "is there, verified and on disk, and not before. Times of modification and permissions are those on the "
                + "server. Empty folders come as well; --archive also keeps links, and all that folders and files have.",
            "A PATH under which there is nothing can be a pattern, as of --include: '*.jpg', 'photos/**/*.jpg'. Everything that "
                + "it matches is fetched, under its path from the first wildcard on. Put it between quotes, so that the shell "
                + "leaves it alone.",
            "A file that is here already is not fetched: one with the size and time of modification of that on the server, or "
                + "with its content. After a lost connection, and when the same "
                + "command is run again after it was interrupted, a long file goes on where it was: what has arrived "
                + "waits in the folder .transfer-parts.",
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
                caption: "Fetch the pictures of all folders, also those that a camera calls .JPG",
                line: "transfer pull 'photos/**/*.jpg' --ignore-case"),
            .init(
                caption: "Fetch a folder as it is, with links and attributes",
                line: "transfer pull --archive project"),
            .init(caption: "See what of a folder is not here yet", line: "transfer pull --dry-run holiday"),
            .init(caption: "Fetch everything, as it is now", line: "transfer pull / -o copy --on-conflict overwrite"),
        ],
        outcomes: [.init(.success, "everything is here")] + FilesFlags.failures,
        places: .sources(into: PullFlags.output.flag))
}
