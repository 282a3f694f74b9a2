private import TransferModel
internal import TransferServer

/// The flags of `transfer serve` about what waits for people.
enum MailFlags {
    private static let usual = ServerConfiguration(directory: "", endpoints: [])

    static let all = effects.map(\.flag)

    static let effects: [FlagEffect<ServerConfiguration>] = [
        Flag(
            name: "no-mailboxes", help: "Refuse uploads that are for people.",
            details:
                "Otherwise everybody with a line in the lists of keys and tokens has a mailbox, unless the line is write-only, "
                + "and they see one another's names."
        ).isOn.sets { configuration, isOff in configuration.keepsMail = !isOff },
        Flag(
            name: "mailbox-quota", placeholder: "SIZE", help: "Let at most so much wait for one person.",
            details: "One sender may fill half of it.", isChangeable: true
        ).size(default: usual.mailboxQuota).sets(\.mailboxQuota),
        Flag(
            name: "expire-undelivered", placeholder: "DURATION",
            help: "Remove deliveries that have waited for so long.", details: "Their senders learn of it.",
            isChangeable: true
        ).interval(default: usual.keepMail).sets(\.keepMail),
    ]
}
