extension PushCommand: ProgramCommand {
    static let definition = Command(
        name: "push", aliases: ["put"], summary: "Send files, directories, text or standard input.",
        operands: "[PATH...] [NAME:/FOLDER]",
        description: [
            "Sends every PATH and reports success only for what the server has acknowledged as stored. Of a "
                + "directory, all files in it and in its folders are sent, with their times and permissions; empty folders are not, and "
                + "neither are symbolic links and devices, which are named; --archive keeps all but devices. - stands for standard input; like a pipe that the shell "
                + "makes of <(PROGRAM), it needs --name.",
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
        flags: PushFlags.all,
        examples: examples,
        outcomes: [.init(.success, "all uploads were committed")] + ExitCode.allCases.dropFirst().map { .init($0) },
        operandValue: .file, places: .target)

    private static let examples: [Command.Example] = [
        .init(caption: "Send a photo", line: "transfer push photo.png"),
        .init(caption: "Send a directory with all files in it", line: "transfer push holiday/"),
        .init(
            caption: "Send a directory as it is, with empty folders, links and attributes",
            line: "transfer push --archive project"),
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
            line: "transfer push *.jpg nas.local:/photos/2024"),
        .init(
            caption: "Send to a server that speaks tus or takes PUT",
            line: "transfer push photo.png --to https://files.example.com/inbox/"),
        .init(
            caption: "Send to a folder of a server that 'transfer remote add' has named",
            line: "transfer push photo.png home:/holiday"),
    ]
}
