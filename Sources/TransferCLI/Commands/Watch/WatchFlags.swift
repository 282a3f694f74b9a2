internal import TransferClient
private import TransferModel

/// The flags of `transfer watch`.
enum WatchFlags {
    static let to = ClientFlags.server(
        "to", help: "The server to send to, and the folder to store files in.",
        details:
            "Write an IPv6 address in brackets. Also accepted: a remote made with 'transfer remote add', "
            + "NAME or NAME:/FOLDER; discover:NAME, a server that 'transfer discover' finds; a link from "
            + "the server's operator, transfer://..., in single quotes.")

    static let settle = FlagKey<Double, UsageError>(durationOfSettling.flag) { (arguments, flag) throws(UsageError) in
        let seconds = try arguments[durationOfSettling]
        guard seconds > 0 else { throw arguments.error("\(flag.spelling) must be more than zero") }
        return seconds
    }

    private static let durationOfSettling = Flag(
        name: "settle", placeholder: "DURATION", help: "Send a file once it has not changed for DURATION.",
        details: "Its size, modification time and inode must stay the same. "
            + DurationNotation.description
    ).duration(default: WatchOptions().settle)

    static let moveTo = Flag(
        name: "move-to", placeholder: "FOLDER", help: "Move each file to FOLDER once the server has acknowledged it.",
        details:
            "FOLDER must be on the file system of DIR, and is created if missing. A file keeps its path "
            + "below DIR, with a number added if that is taken. A file that has changed since it was sent "
            + "stays, and is sent again. FOLDER may be in DIR; files in it are not sent.", value: .folder
    ).text

    /// The flag `--delete-source`, without the note about `--archive`, because a watch does not have that flag.
    static let deletesSources = Flag(
        name: PushFlags.deletesSources.flag.name, help: PushFlags.deletesSources.flag.help,
        details: PushFlags.whatStays("Directories are kept")
    ).isOn

    static let endsWhenSent = Flag(
        name: "once", help: "Send what is there once it has stopped changing, and exit; for cron(8)."
    ).isOn

    static let retryFor = FlagKey<Double?, UsageError>(
        Flag(
            name: "retry-for", placeholder: "DURATION",
            help: "How long to retry a server that cannot be reached; forever if not given.",
            details: "With --once, one minute if not given. \(DurationNotation.description)", value: .duration)
    ) { (arguments, flag) throws(UsageError) in
        try arguments[flag.text].map { (text) throws(UsageError) in try arguments.duration(text, of: flag) }
    }

    /// The flags that determine how files are transferred, as those of a push.
    static let handling = PushFlags.handling.filter { $0.flag.name != retryFor.flag.name }

    static let all =
        [to.flag, settle.flag, deletesSources.flag, moveTo.flag, endsWhenSent.flag]
        + SelectionFlags.push.all + SecurityFlags.all + handling.map(\.flag)
        + [
            retryFor.flag, PushFlags.json.flag, ClientFlags.quiet.flag, ClientFlags.colour.flag, .insecurePermissions,
            .help,
        ]
}
