internal import TransferClient

/// The flags of `transfer sync` and `transfer check`.
enum SyncFlags {
    static let to = ClientFlags.server(
        "to", help: "The server and the folder that are the target, in place of a second operand.",
        details: "Or a remote, as 'transfer remote add' has named it: NAME or NAME:/FOLDER.")

    static let json = Flag(name: "json", help: "Print one JSON object a line for every change, and one for all.").isOn

    /// What decides what is the same.
    static let comparing: [FlagEffect<SyncOptions>] = [
        Flag(
            name: "checksum", short: "c", help: "Compare content also where size and time are the same.",
            details: "What is here is read for that; the server has the digest that it acknowledged."
        ).isOn.sets(\.comparesContent),
        Flag(
            name: "no-owner", help: "Leave owners as they are.", details: "They are kept where whoever stores is root."
        ).isOn
            .sets { options, isOn in options.keepsOwners = !isOn },
    ]

    /// What may be removed.
    static let removing: [FlagEffect<SyncOptions>] = [
        Flag(
            name: "delete", help: "Remove from the target what the source doesn't have.",
            details:
                "After all else, and not at all if anything went wrong, or if the source could not be read whole. What "
                + "--exclude and the like leave out stays."
        ).isOn.sets(\.deletes),
        mostDeletions.sets(\.mostDeletions),
        Flag(
            name: "no-trash", help: "Remove it for good.",
            details:
                "Otherwise, and without --backup-dir, it goes to the server's trash, which 'transfer trash' shows and restores, or to .transfer/trash in "
                + "the directory here. A server that has a trash for all that is removed keeps it all the same."
        ).isOn.sets { options, isOn in options.keepsInTrash = !isOn },
        Flag(
            name: "backup-dir", placeholder: "DIR",
            help: "Keep what is replaced and removed in DIR, a folder in TARGET.",
            details:
                "Under the path that it had or, where that is taken there, below a folder of the sync's time. DIR is left out of "
                + "the sync on both sides; say --exclude for the DIR of another sync, which --delete would remove. What cannot be kept is "
                + "neither replaced nor removed. In a directory here that takes a "
                + "file system with hard links; a server makes copies, and its trash keeps what is replaced as well."
        ).text.sets(\.backupFolder),
        Flag(
            name: "force", help: "Go on when the source has no file at all.",
            details: "Otherwise --delete takes that for a disk that is not mounted."
        ).isOn.sets(\.isForced),
    ]

    /// How a sync treats files that were changed in the target since the last sync.
    static let replacing: [FlagEffect<SyncOptions>] = [
        Flag(
            name: "on-conflict", placeholder: "CHOICE", help: "What to do with a file that both sides have changed.",
            details: "That is one of the target that is not what a sync of these two has seen last or, in their first "
                + "one, that is not older than the source's. both leaves it, and stores the source's beside it as NAME.conflict-HOST-DATE, which "
                + "--delete doesn't remove; fail leaves it, and stores nothing; both are told, and the sync exits with 1. newer takes "
                + "the newer one, source the source's. What --delete would remove stays where the target has changed it, but with source."
        ).choice(default: SyncOptions().conflicts).sets(\.conflicts),
        Flag(
            name: "update", short: "u", help: "Leave files that are newer in the target.",
            details: "By the times of both; that is no conflict."
        ).isOn.sets(\.skipsNewer),
    ]

    static let isDryRun: FlagEffect<SyncOptions> = Flag(
        name: "dry-run", short: "n", help: "Look at both sides, print what would be done, and change nothing."
    ).isOn.sets(\.isDryRun)

    private static let mostDeletions = FlagKey<Int?, UsageError>(
        Flag(
            name: "max-delete", placeholder: "N", help: "Refuse to remove anything when it would be more than N.",
            details: "Files, folders and links count alike.")
    ) { (arguments, flag) throws(UsageError) in
        try arguments.values(of: flag).last.map { (text) throws(UsageError) in
            try arguments.count(text, of: flag, in: 0...Int.max)
        }
    }

    /// How it travels.
    static let handling: [FlagEffect<ClientConfiguration>] = [
        ClientFlags.compression(
            "What is stored is the same. auto compresses while that makes the content arrive sooner."),
        ClientFlags.lanes("Several carry several files at once, and a long file in parts."),
        ClientFlags.digest,
        ClientFlags.bandwidth("Send or receive no more than RATE bytes a second, all connections together."),
    ]
}
