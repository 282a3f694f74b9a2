internal import TransferClient

/// The flags of `transfer sync` and `transfer check`.
enum SyncFlags {
    static let to = ClientFlags.server(
        "to", help: "The target server and folder, instead of a second operand.",
        details: "Also accepted: a remote made with 'transfer remote add', NAME or NAME:/FOLDER.")

    static let json = Flag(
        name: "json", help: "Print one JSON object per line for every change, and one for the summary."
    ).isOn

    /// Flags that determine which files count as the same.
    static let comparing: [FlagEffect<SyncOptions>] = [
        Flag(
            name: "checksum", short: "c", help: "Compare content even if size and time are the same.",
            details: "Local files are read for that; the server has the digest that it acknowledged."
        ).isOn.sets(\.comparesContent),
        Flag(
            name: "no-owner", help: "Do not keep owners.",
            details: "By default they are kept if the receiving side runs as root."
        ).isOn
            .sets { options, isOn in options.keepsOwners = !isOn },
    ]

    /// Flags that determine which files are removed.
    static let removing: [FlagEffect<SyncOptions>] = [
        Flag(
            name: "delete", help: "Remove from the target what the source doesn't have.",
            details:
                "Done last, and not at all if anything failed or the source could not be read "
                + "completely. What --exclude and similar flags exclude is kept."
        ).isOn.sets(\.deletes),
        mostDeletions.sets(\.mostDeletions),
        Flag(
            name: "no-trash", help: "With --delete, remove permanently.",
            details:
                "By default, and without --backup-dir, removed entries go to the server's trash (see "
                + "'transfer help trash'), or to .transfer/trash in the local directory. A server that "
                + "keeps everything removed in its trash still does so."
        ).isOn.sets { options, isOn in options.keepsInTrash = !isOn },
        Flag(
            name: "backup-dir", placeholder: "DIR",
            help: "Keep what is replaced or removed in DIR, a folder in TARGET.",
            details:
                "An entry keeps its path or, if that is taken in DIR, is put below a folder named after "
                + "the time of the sync. DIR is excluded from the sync on both sides; use --exclude for "
                + "the DIR of another sync, which --delete would remove. What cannot be kept is neither "
                + "replaced nor removed. A local DIR needs a file system with hard links; a server makes "
                + "copies, and its trash also keeps what is replaced."
        ).text.sets(\.backupFolder),
        Flag(
            name: "force", help: "Continue even if the source has no files at all.",
            details: "By default, --delete takes that for a disk that is not mounted."
        ).isOn.sets(\.isForced),
    ]

    /// Flags that determine what a sync does with files that were changed in the target since the last sync.
    static let replacing: [FlagEffect<SyncOptions>] = [
        Flag(
            name: "on-conflict", placeholder: "CHOICE", help: "What to do with a file that both sides have changed.",
            details: "Such a file in the target differs from what the last sync of the two has seen or, in their "
                + "first sync, is not older than the source's. both keeps it and stores the source's beside it "
                + "as NAME.conflict-HOST-DATE, which --delete does not remove; fail keeps it and stores "
                + "nothing. Both report it, and the sync exits with 1. newer takes the newer file, source the "
                + "source's. A file that --delete would remove is kept if it was changed in the target, except "
                + "with source."
        ).choice(default: SyncOptions().conflicts).sets(\.conflicts),
        Flag(
            name: "update", short: "u", help: "Skip files that are newer in the target.",
            details: "Compares modification times; this is not a conflict."
        ).isOn.sets(\.skipsNewer),
    ]

    static let isDryRun: FlagEffect<SyncOptions> = Flag(
        name: "dry-run", short: "n", help: "Print what would be done, without changing anything."
    ).isOn.sets(\.isDryRun)

    private static let mostDeletions = FlagKey<Int?, UsageError>(
        Flag(
            name: "max-delete", placeholder: "N",
            help: "Stop before removing anything if more than N would be removed.",
            details: "Files, folders and links count alike.")
    ) { (arguments, flag) throws(UsageError) in
        try arguments.values(of: flag).last.map { (text) throws(UsageError) in
            try arguments.count(text, of: flag, in: 0...Int.max)
        }
    }

    /// Flags about compression, connections and rates.
    static let handling: [FlagEffect<ClientConfiguration>] = [
        ClientFlags.compression(
            "Does not change what is stored. auto compresses while that makes the transfer faster."),
        ClientFlags.lanes("Several connections carry several files at once, and a large file in parts."),
        ClientFlags.digest,
        ClientFlags.bandwidth("Limit the transfer to RATE bytes per second, over all connections."),
    ]
}
