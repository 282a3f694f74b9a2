internal import TransferClient
private import TransferModel

/// The flags of `transfer watch`.
enum WatchFlags {
    static let to = ClientFlags.server(
        "to", help: "The server, and a folder there to put everything in.",
        details:
            "An IPv6 address stands in brackets. Or a remote, as 'transfer remote add' has named it: NAME or NAME:/FOLDER. Or "
            + "discover:NAME, which 'transfer discover' finds. Or a link that the server's operator gave you, transfer://... "
            + "between single quotes.")

    static let settle = FlagKey<Double, UsageError>(durationOfSettling.flag) { (arguments, flag) throws(UsageError) in
        let seconds = try arguments[durationOfSettling]
        guard seconds > 0 else { throw arguments.error("\(flag.spelling) must be more than zero") }
        return seconds
    }

    private static let durationOfSettling = Flag(
        name: "settle", placeholder: "DURATION", help: "How long a file rests before it is sent.",
        details: "Its size, its time of modification and its inode are the same before and after that. "
            + DurationNotation.description
    ).duration(default: WatchOptions().settle)

    static let moveTo = Flag(
        name: "move-to", placeholder: "FOLDER", help: "Move each file to FOLDER when the server has acknowledged it.",
        details:
            "It has to be on the file system of DIR, and is made if it is missing. A file keeps its path below DIR, and gets a "
            + "number where that is taken. What has changed since it was sent stays, and is sent again. FOLDER may be in DIR: what is "
            + "in it is not sent.", value: .folder
    ).text

    /// A watch knows no `--archive`.
    static let deletesSources = Flag(
        name: PushFlags.deletesSources.flag.name, help: PushFlags.deletesSources.flag.help,
        details: PushFlags.whatStays("Directories are left")
    ).isOn

    static let endsWhenSent = Flag(
        name: "once", help: "Send what is there when it rests, and stop; for cron(8)."
    ).isOn

    static let retryFor = FlagKey<Double?, UsageError>(
        Flag(
            name: "retry-for", placeholder: "DURATION",
            help: "How long to try a server again that cannot be reached; for ever when not given.",
            details: "With --once a minute when not given. \(DurationNotation.description)", value: .duration)
    ) { (arguments, flag) throws(UsageError) in
        try arguments[flag.text].map { (text) throws(UsageError) in try arguments.duration(text, of: flag) }
    }

    /// How files travel, as with a push.
    static let handling = PushFlags.handling.filter { $0.flag.name != retryFor.flag.name }

    static let all =
        [to.flag, settle.flag, deletesSources.flag, moveTo.flag, endsWhenSent.flag]
        + SelectionFlags.push.all + SecurityFlags.all + handling.map(\.flag)
        + [
            retryFor.flag, PushFlags.json.flag, ClientFlags.quiet.flag, ClientFlags.colour.flag, .insecurePermissions,
            .help,
        ]
}
