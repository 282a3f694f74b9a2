/// The flags that all commands about the server's trash have, and what there is to say about it.
enum TrashFlags {
    static let about =
        "Something goes to the trash by 'transfer remove --trash', and on a server with a trash by any removal, and by whatever takes its "
        + "place. The server removes it for good after --trash-for, 30 days unless its operator says otherwise, and earlier where it "
        + "needs the room."

    static let json = FilesFlags.json("file")

    static let common =
        [FilesFlags.from.flag, json.flag, ClientFlags.retryFor.flag] + SecurityFlags.all + [
            FilesFlags.quiet.flag, .insecurePermissions, .help,
        ]

    /// Chooses parts of the trash.
    static let batch = Flag(
        name: "batch", placeholder: "NAME",
        help: "Only what is in this part of the trash, as 'transfer trash list' names it; may be given several times."
    ).texts
}
