private import TransferClient
private import TransferSystem

/// `transfer sync`: makes a folder on a server the same as a directory here, or the other way round.
struct SyncCommand {
    private let runner: SyncRunner

    init(_ arguments: ParsedArguments) throws(UsageError) {
        var options = SyncOptions()
        for effect in Self.choices { try effect(arguments, on: &options) }
        guard options.deletes || options.mostDeletions == nil, options.deletes || options.keepsInTrash else {
            throw arguments.error("--max-delete and --no-trash are about what --delete removes; add --delete")
        }
        guard options.keepsInTrash || options.backupFolder == nil else {
            throw arguments.error("--no-trash and --backup-dir contradict each other")
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
        name: "sync", summary: "Make a folder on a server the same as a directory here, or the other way round.",
        operands: "SOURCE TARGET",
        description: [
            "Sends what is new or changed in SOURCE, one of the two on a server, and makes TARGET the same: files, folders, also "
                + "empty ones, symbolic links as links, hard links, permissions, times, extended attributes of users, and owners "
                + "where whoever stores is root. A file is changed when its size or time is another one. A file that was only "
                + "renamed is moved and not sent again, with --delete.",
            "What somebody else has changed in the target since the last sync of the two is not replaced: both stay, and it is told "
                + "(--on-conflict). What syncs have seen is in ~/.config/transfer/syncs.",
            "As with rsync, SOURCE/ is what is in the folder, and SOURCE the folder itself, which goes into TARGET.",
            "What is printed are the changes. Devices, sockets and FIFOs are told and left out, and so are files and folders here that are "
                + "called .transfer or .transfer-parts; a name that is not UTF-8 cannot go to a server, is told, and counts as a failure. "
                + "Permissions are those of owner, group and others: setuid, setgid and sticky bits are not kept.",
            FilesFlags.aboutAccess,
        ],
        flags: [SyncFlags.to.flag] + choices.map(\.flag) + SelectionFlags.push.all + SyncFlags.handling.map(\.flag)
            + [SyncFlags.json.flag, ClientFlags.retryFor.flag] + SecurityFlags.all
            + [ClientFlags.quiet.flag, ClientFlags.progress.flag, .insecurePermissions, .help],
        examples: [
            .init(caption: "Keep a copy of a folder", line: "transfer sync photos/ nas.local:/photos"),
            .init(
                caption: "The same, and what is gone here goes to the trash there",
                line: "transfer sync --delete photos/ nas.local:/photos"),
            .init(caption: "See what would be done", line: "transfer sync -n --delete photos/ nas.local:/photos"),
            .init(caption: "Bring it back", line: "transfer sync nas.local:/photos/ photos"),
        ],
        outcomes: [.init(.success, "both are the same now, but for what was left out")] + FilesFlags.failures,
        places: .any)
}
