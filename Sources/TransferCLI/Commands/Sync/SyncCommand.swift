private import TransferClient
private import TransferSystem

/// `transfer sync`: makes a folder on a server the same as a local directory, or the other way round.
struct SyncCommand {
    private let runner: SyncRunner

    init(_ arguments: ParsedArguments) throws(UsageError) {
        var options = SyncOptions()
        for effect in Self.choices { try effect(arguments, on: &options) }
        guard options.deletes || options.mostDeletions == nil, options.deletes || options.keepsInTrash else {
            throw arguments.error("--max-delete and --no-trash need --delete")
        }
        guard options.keepsInTrash || options.backupFolder == nil else {
            throw arguments.error("--no-trash and --backup-dir exclude each other")
        }
        do throws(TransferFailure) {
            try options.check()
        } catch {
            throw arguments.error(error.message)
        }
        options.records = ConfigurationFolder.path.map { "\($0)/syncs" }
        runner = try SyncRunner(arguments, options, .doing)
    }

    func run() async -> ExitCode { await runner.run() }
}

extension SyncCommand: ProgramCommand {
    private static let choices = SyncFlags.removing + SyncFlags.replacing + SyncFlags.comparing + [SyncFlags.isDryRun]

    static let definition = Command(
        name: "sync", summary: "Synchronise a directory to a folder on a server, or a folder to a directory.",
        operands: "SOURCE TARGET",
        description: [
            "Transfers what is new or changed in SOURCE and makes TARGET the same; one of the two is on "
                + "a server. It keeps files, folders (also empty ones), symbolic links, hard links, "
                + "permissions, times, user extended attributes, and owners if the receiving side runs as "
                + "root. A file counts as changed if its size or modification time differs. With --delete, a "
                + "file that was only renamed is moved and not sent again.",
            "A file that was changed in the target since the last sync of the two is not replaced: both "
                + "versions are kept and reported as a conflict (see --on-conflict). The state of earlier "
                + "syncs is in ~/.config/transfer/syncs.",
            "As with rsync, SOURCE/ means the content of the folder, and SOURCE the folder itself, which "
                + "is put into TARGET.",
            "Sync prints the changes. Devices, sockets, FIFOs, and local files and folders named "
                + ".transfer or .transfer-parts are skipped with a message. A name that is not UTF-8 cannot be "
                + "sent to a server, and counts as a failure. Permissions are those of owner, group and "
                + "others; setuid, setgid and sticky bits are not kept.",
            FilesFlags.aboutAccess,
        ],
        flags: [SyncFlags.to.flag] + choices.map(\.flag) + SelectionFlags.push.all + SyncFlags.handling.map(\.flag)
            + [SyncFlags.json.flag, ClientFlags.retryFor.flag] + SecurityFlags.all
            + [ClientFlags.quiet.flag, ClientFlags.progress.flag, .insecurePermissions, .help],
        examples: [
            .init(caption: "Keep a copy of a folder", line: "transfer sync photos/ nas.local:/photos"),
            .init(
                caption: "Also move what is gone here to the trash there",
                line: "transfer sync --delete photos/ nas.local:/photos"),
            .init(caption: "See what would be done", line: "transfer sync -n --delete photos/ nas.local:/photos"),
            .init(caption: "Restore a folder from the server", line: "transfer sync nas.local:/photos/ photos"),
        ],
        outcomes: [.init(.success, "both are the same, except for what was left out")] + FilesFlags.failures,
        places: .any)
}
