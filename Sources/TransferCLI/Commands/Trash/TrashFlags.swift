/// The flags and texts that all commands for the trash share.
enum TrashFlags {
    static let about =
        "'transfer remove --trash' moves entries to the trash; on a server with a trash, every removal "
        + "and replacement does. The server removes them permanently after --trash-for, 30 days unless its "
        + "operator chooses otherwise, and earlier if it needs the space."

    static let json = FilesFlags.json("file")

    static let common =
        [FilesFlags.from.flag, json.flag, ClientFlags.retryFor.flag] + SecurityFlags.all + [
            FilesFlags.quiet.flag, .insecurePermissions, .help,
        ]

    /// Chooses batches of the trash.
    static let batch = Flag(
        name: "batch", placeholder: "NAME",
        help: "Use only this trash batch, as 'transfer trash list' names it; may be given several times."
    ).texts
}
