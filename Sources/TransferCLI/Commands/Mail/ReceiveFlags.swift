internal import TransferClient

/// The flags of `transfer receive`.
enum ReceiveFlags {
    /// The values of `--accept`: which deliveries to accept.
    enum Acceptance: String, CaseIterable, FlagChoice {
        case all, ask, none

        var flagValue: String { rawValue }
    }

    static let from = Flag(
        name: "from", placeholder: "NAME", help: "Receive only deliveries from NAME.",
        details: "May be given several times, and with several names separated by commas.", value: .person
    ).texts

    static let watches = Flag(
        name: "watch", short: "w", help: "Keep receiving until stopped.",
        details: "A lost connection is retried for a day, unless --retry-for is given."
    ).isOn

    static let accepts = Flag(
        name: "accept", placeholder: "WHICH", help: "Which deliveries to accept.",
        details:
            "ask prompts for each on the terminal: y accepts it, n declines it, anything else leaves it "
            + "on the server. none declines all: their senders are informed, and the server discards them."
    ).choice(default: Acceptance.all)

    static let output = Flag(
        name: "output", short: "o", placeholder: "FILE",
        help: "Write the content of the one waiting delivery to FILE; - is standard output.",
        details:
            "With --from, of the one from that sender. An existing FILE is kept, unless --on-conflict "
            + "says otherwise. On standard output the content is verified piece by piece, and counts as "
            + "delivered when all of it is written.", value: .file
    ).text

    static let program = Flag(
        name: "exec", placeholder: "PROGRAM", help: "Run PROGRAM for each delivery that is stored.",
        details:
            "PROGRAM is run without a shell and without arguments; it reads the line of --json on "
            + "standard input, and its output goes to standard error. It runs after the delivery is "
            + "durable and the server knows it, one at a time. A program that fails is reported, and the "
            + "delivery stays received.", value: .file
    ).text

    static let keeps = Flag(
        name: "keep", help: "Store deliveries, but leave them waiting on the server."
    ).isOn

    static let takesHidden = Flag(
        name: "hidden", help: "Keep the leading dot of names.",
        details:
            "By default _ replaces it: programs read such files without being asked to, and the names "
            + "come from other people."
    ).isOn

    static let takesExecution = Flag(
        name: "executable", help: "Keep the execute permission of deliveries.",
        details: "By default it is removed, and 'chmod +x' restores it."
    ).isOn

    static let staysSealed = Flag(
        name: "no-open", help: "Store sealed deliveries unopened, with .age appended to the name.",
        details:
            "'age -d -i ~/.config/transfer/sealing.key' opens them. By default they are opened, and "
            + "stored only if they are complete and signed by the sender; a file with the suffix .age that "
            + "was not sealed by Transfer is also opened, if this user's key opens it."
    ).isOn

    static let choices = [
        ClientFlags.conflict,
        ClientFlags.serverCompression,
        ClientFlags.lanes(
            "Several connections fetch several files at once. auto uses up to 4 (1 on a machine with a "
                + "single core), and only as many as there is work for."),
    ]

    static let json = FilesFlags.json("delivery")
}
