extension Commands {
    static let receiptVerify = Command(
        name: "receipt verify", summary: "Check signed receipts, and files against them.", operands: "FILE",
        description: [
            "Reads the receipts that 'transfer push --receipts FILE' kept, one a line, and checks that the server signed "
                + "each as it stands. Nothing is asked of the server. - stands for standard input.",
            "Without --key it shows whose receipts they are: compare that with what the server's operator says. With "
                + "--against it also reads the stored files and compares size and digest.",
        ],
        flags: [
            Flag(
                name: "key", placeholder: "KEY", help: "Accept receipts of this server only.",
                details:
                    "A fingerprint as the server logs it (SHA256:...), the public key in hexadecimal or base64, or the "
                    + "path of a PEM file."),
            Flag(
                name: "against", placeholder: "PATH", help: "Compare stored content with the receipts.",
                details:
                    "A directory, such as the server's or a copy of it, in which each receipt's path is looked up; or one "
                    + "file, which every receipt must be about.", value: .file),
            Flag(
                name: "json",
                help: "Print one JSON object a line for everything that is wrong, and one for the summary."),
            Flag(name: "quiet", short: "q", help: "Print only what is wrong."),
            .help,
        ],
        examples: [
            .init(
                caption: "Check receipts of a known server",
                line: "transfer receipt verify receipts.jsonl --key SHA256:uUq..."),
            .init(
                caption: "Check a server's directory, or a backup of it, against them",
                line: "transfer receipt verify receipts.jsonl --against /srv/in"),
            .init(
                caption: "Check one file",
                line: "grep photo.png receipts.jsonl | transfer receipt verify - --against a.png"),
        ],
        outcomes: [
            .init(.success, "every receipt is good, and so is the content where it was asked for"),
            .init(.uploadsFailed, "something is not good, could not be read, or there was no receipt"), .init(.usage),
        ], operandValue: .file)

    static let receiptShow = Command(
        name: "receipt show", summary: "Print what receipts say.", operands: "FILE",
        description: [
            "Reads receipts, one a line, and prints what each says, for people. - stands for standard input. Signatures "
                + "are not checked: 'transfer receipt verify' does that."
        ],
        flags: [
            Flag(name: "json", help: "Print the lines as they are, those that are no receipts left out."), .help,
        ],
        examples: [
            .init(caption: "Read receipts", line: "transfer receipt show receipts.jsonl"),
            .init(
                caption: "Give the lines to another program",
                line: "transfer receipt show --json receipts.jsonl | jq .receipt"),
        ],
        outcomes: [
            .init(.success, "every line is a receipt"),
            .init(.uploadsFailed, "some line is none, or the file could not be read"), .init(.usage),
        ], operandValue: .file)
}
