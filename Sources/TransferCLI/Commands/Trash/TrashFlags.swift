/// The flags that all commands about the server's trash have, and what there is to say about it.
enum TrashFlags {
    static let about =
        "Something goes to the trash by 'transfer remove --trash', or by any removal on a server that was started with --trash. "
        + "The server removes it for good after --keep-trash, 30 days unless its operator says otherwise."

    static let json = FilesFlags.json("file")

    static let common =
        [FilesFlags.from.flag, json.flag, ClientFlags.retryFor.flag] + SecurityFlags.all + [
            FilesFlags.quiet.flag, .help,
        ]

    /// Chooses parts of the trash.
    static let batch = Flag(
        name: "batch", placeholder: "NAME",
        help: "Only what is in this part of the trash, as 'transfer trash list' names it."
    ).text
}
