private import TransferModel
internal import TransferServer

/// The flags of `transfer serve` about mailboxes.
enum MailFlags {
    private static let usual = ServerConfiguration(directory: "", endpoints: [])

    static let all = effects.map(\.flag)

    static let effects: [FlagEffect<ServerConfiguration>] = [
        Flag(
            name: "no-mailboxes", help: "Disable mailboxes.",
            details:
                "By default, everyone in the lists of keys and tokens has a mailbox, unless the entry is "
                + "write-only, and sees the names of the others."
        ).isOn.sets { configuration, isOff in configuration.keepsMail = !isOff },
        Flag(
            name: "mailbox-quota", placeholder: "SIZE", help: "Limit what waits for one person to SIZE.",
            details: "One sender may use half of it.", isChangeable: true
        ).size(default: usual.mailboxQuota).sets(\.mailboxQuota),
        Flag(
            name: "expire-undelivered", placeholder: "DURATION",
            help: "Remove deliveries that have waited for DURATION.", details: "Their senders are informed.",
            isChangeable: true
        ).interval(default: usual.keepMail).sets(\.keepMail),
    ]
}
