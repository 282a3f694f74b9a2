internal import TransferClient

/// The flags of `transfer receive`.
enum ReceiveFlags {
    /// Which deliveries are taken.
    enum Acceptance: String, CaseIterable, FlagChoice {
        case all, ask, none

        var flagValue: String { rawValue }
    }

    static let from = Flag(
        name: "from", placeholder: "NAME", help: "Receive only what NAME has sent.",
        details: "Can be given several times, and with several names between commas.", value: .person
    ).texts

    static let watches = Flag(
        name: "watch", short: "w", help: "Go on with what comes later, until it is stopped.",
        details: "A lost connection is made again for a day, unless --retry-for says otherwise."
    ).isOn

    static let accepts = Flag(
        name: "accept", placeholder: "WHICH", help: "Which deliveries to take.",
        details:
            "ask asks at the terminal about each: y takes it, n declines it, anything else leaves it where it is. none "
            + "declines all: their senders are told so, and the server throws them away."
    ).choice(default: Acceptance.all)

    static let output = Flag(
        name: "output", short: "o", placeholder: "FILE",
        help: "Put the content of the one delivery that waits into FILE; - is standard output.",
        details:
            "With --from, of the one that waits from there. What has the name already is left, unless --on-conflict says "
            + "otherwise. On standard output the content is verified piece by piece, and counts as delivered when all of it "
            + "is written.", value: .file
    ).text

    static let program = Flag(
        name: "exec", placeholder: "PROGRAM", help: "Run PROGRAM for each delivery that is stored.",
        details:
            "Without a shell and without arguments; it reads the line of --json on its standard input, and what it writes "
            + "goes to standard error. It runs when the delivery is durable and the server knows it, one after the other. "
            + "One that fails is reported, and the delivery stays received.", value: .file
    ).text

    static let keeps = Flag(
        name: "keep", help: "Store deliveries, and leave them waiting on the server as not delivered."
    ).isOn

    static let takesHidden = Flag(
        name: "hidden", help: "Store names that begin with a dot as they are.",
        details:
            "Otherwise _ takes the dot's place: programs read such files without being told to, and the names come from "
            + "other people."
    ).isOn

    static let takesExecution = Flag(
        name: "executable", help: "Keep the permission to run what others have sent as a program.",
        details: "Otherwise it is taken off, and 'chmod +x' gives it back."
    ).isOn

    static let staysSealed = Flag(
        name: "no-open", help: "Store what is sealed as it comes, with .age behind its name.",
        details:
            "'age -d -i ~/.config/transfer/sealing.key' opens it then. Otherwise it is opened, and stored only when it is "
            + "whole and signed by who has sent it; and a file that came without a seal of Transfer's, whose name ends with "
            + ".age, is opened where this user's key opens it."
    ).isOn

    static let choices = [
        ClientFlags.conflict,
        ClientFlags.serverCompression,
        ClientFlags.lanes(
            "Several carry several files at once. auto uses up to 4, one on a machine with a single core, and only as many "
                + "as there is work for."),
    ]

    static let json = FilesFlags.json("delivery")
}
