/// What `push` takes beside the paths among its arguments, and what it leaves out.
extension Commands {
    static let pushBatch = [
        Flag(
            name: "files-from", placeholder: "FILE",
            help: "Send what FILE lists, a path on each line; - is standard input.",
            details:
                "A file is stored under its path as it stands there, from behind the last . or .. in it: a/b.txt and "
                + "/x/./a/b.txt both become a/b.txt.", value: .file),
        Flag(
            name: "null", short: "0",
            help: "Paths in --files-from and --failed-to end with a NUL byte, not with a line."),
        Flag(
            name: "manifest", placeholder: "FILE", help: "Send what FILE describes, a JSON object on each line.",
            details:
                "It has a path, and may have a name, a folder and a kind, as in {\"path\": \"a.jpg\", \"name\": \"1.jpg\", "
                + "\"folder\": \"photos\", \"kind\": \"picture\"}. Nothing is sent if a line is wrong; - is standard input.",
            value: .file),
        Flag(
            name: "failed-to", placeholder: "FILE",
            help: "Write the paths of what failed to FILE, as --files-from takes them.",
            details: "With --manifest, write the lines of it that failed. Without failures the file is empty.",
            value: .file),
        Flag(name: "fail-fast", help: "Stop at the first failure."),
        Flag(name: "dry-run", short: "n", help: "Print what would be sent, and connect to nothing."),
        Flag(
            name: "delete-source",
            help: "Remove each file when the server has made it durable and it is still the same.",
            details:
                "Directories are left, and so is what is reached through a symbolic link. So is a file that lies in the "
                + "server's own directory, and one of which the server will not say whether it does."),
    ]

    static let pushSelection = [
        Flag(
            name: "include", placeholder: "GLOB", help: "Send the files that match.",
            details: "The first --include or --exclude that matches decides. What none matches is sent, unless all are "
                + "--include. In a pattern, * and ? stand for anything but a slash, [a-z] for one of several characters, ** for "
                + "directories. A slash in front makes it match from the directory that is sent, otherwise it matches from any "
                + "component of a path on; one at the end makes it match directories.",
            isRepeatable: true),
        Flag(
            name: "exclude", placeholder: "GLOB",
            help: "Leave out the files that match, and all in directories that match.",
            details: "A file that an earlier --include matches is sent all the same.", isRepeatable: true),
        Flag(
            name: "no-ignore", help: "Send also what .transferignore files leave out.",
            details: "They stand in directories that are sent, and are written as .gitignore files are."),
        Flag(
            name: "min-size", placeholder: "SIZE", help: "Leave out files that are smaller.", details: sizeNotation,
            value: .size),
        Flag(
            name: "max-size", placeholder: "SIZE", help: "Leave out files that are larger.", details: sizeNotation,
            value: .size),
        Flag(
            name: "newer", placeholder: "WHEN", help: "Leave out files that were not modified after WHEN.",
            details:
                "A duration before now, such as 7d; a date, such as 2026-01-31 or 2026-01-31T18:30:00Z, without the Z in "
                + "local time; or a file, whose time of modification counts. A file that is called so is ./7d."),
    ]
}
