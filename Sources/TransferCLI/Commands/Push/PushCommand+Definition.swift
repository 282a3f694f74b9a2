extension PushCommand: ProgramCommand {
    static let definition = Command(
        name: "push", aliases: ["put"], summary: "Send files, directories, text or standard input.",
        operands: "[PATH...] [NAME:/FOLDER]",
        description: [
            "Sends every PATH. An upload succeeds only when the server has acknowledged it as stored. A "
                + "directory is sent with all files below it, their times and permissions. Empty folders are "
                + "left out, and symbolic links and devices are skipped with a message; --archive sends all "
                + "but devices. - is standard input; like a pipe that the shell makes of <(PROGRAM), it needs "
                + "--name.",
            "The connection is encrypted, and the server must prove its identity with a known key (see "
                + "'transfer help trust list') or a certificate that the system trusts. An unknown key is "
                + "refused in scripts; on a terminal, push asks whether to trust it.",
            "The server identifies this user by a key, which is generated when it is first needed (see "
                + "'transfer help key'), or by a token. The server's operator has to add the key once, unless "
                + "the server runs on this machine as the same user.",
            "After a lost connection, push reconnects and sends what was not acknowledged. Standard "
                + "input is resumed, too, unless the server's machine lost power.",
            "Files that were pushed before and have the same path, size and modification time are not "
                + "sent again, as long as the server has them.",
        ],
        flags: PushFlags.all,
        examples: examples,
        outcomes: [.init(.success, "all uploads are stored")] + ExitCode.allCases.dropFirst().map { .init($0) },
        operandValue: .file, places: .target)

    private static let examples: [Command.Example] = [
        .init(caption: "Send a photo", line: "transfer push photo.png"),
        .init(caption: "Send a directory with all files in it", line: "transfer push holiday/"),
        .init(
            caption: "Send a directory as it is, with empty folders, links and attributes",
            line: "transfer push --archive project"),
        .init(
            caption: "Send the output of another program", line: "tar c logs | transfer push - --name logs.tar"),
        .init(caption: "Send a text", line: "transfer push --text 'The key is under the mat' --name note.txt"),
        .init(
            caption: "Save the results for a script",
            line: "transfer push --json --quiet *.jpg > results.jsonl"),
        .init(
            caption: "Keep signed receipts, and check them later",
            line: "transfer push --receipts receipts.jsonl holiday/"),
        .init(
            caption: "Send from a script to a server that is not known yet",
            line: "transfer push --server-key SHA256:uT… --to nas.local backup.tar"),
        .init(
            caption: "Send with a token that the server's operator gave you",
            line: "transfer push --token-file camera.token --to nas.local *.jpg"),
        .init(
            caption: "Send to a folder on another machine",
            line: "transfer push *.jpg nas.local:/photos/2024"),
        .init(
            caption: "Send to a server that supports tus or PUT",
            line: "transfer push photo.png --to https://files.example.com/inbox/"),
        .init(
            caption: "Send to a folder of a remote, see 'transfer help remote add'",
            line: "transfer push photo.png home:/holiday"),
    ]
}
