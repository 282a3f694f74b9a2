private import TransferClient

/// `transfer check`: prints the differences between a folder on a server and a local directory.
struct CheckCommand {
    private let runner: SyncRunner

    init(_ arguments: ParsedArguments) throws(UsageError) {
        var options = SyncOptions()
        for effect in SyncFlags.comparing { try effect(arguments, on: &options) }
        (options.isDryRun, options.deletes, options.isForced, options.conflicts) = (true, true, true, .source)
        runner = try SyncRunner(arguments, options, .comparing)
    }

    func run() async -> ExitCode { await runner.run() }
}

extension CheckCommand: ProgramCommand {
    static let definition = Command(
        name: "check", summary: "Compare a folder on a server with a directory.", operands: "SOURCE TARGET",
        description: [
            "Compares the two as 'transfer sync' does, and changes nothing. TARGET lacks entries that "
                + "are 'missing', has other content in those that are 'differs', and has 'extra' entries that "
                + "SOURCE lacks. Content is compared with --checksum; otherwise files with the same size and "
                + "time are taken as the same.",
            "SOURCE/ means the content of the folder, and SOURCE the folder itself, which is looked up in TARGET.",
            FilesFlags.aboutAccess,
        ],
        flags: [SyncFlags.to.flag] + SyncFlags.comparing.map(\.flag) + SelectionFlags.push.all
            + SyncFlags.handling.map(\.flag) + [SyncFlags.json.flag, ClientFlags.retryFor.flag] + SecurityFlags.all
            + [ClientFlags.quiet.flag, ClientFlags.progress.flag, .insecurePermissions, .help],
        examples: [
            .init(caption: "Is the copy complete?", line: "transfer check photos/ nas.local:/photos"),
            .init(caption: "Read and compare all of it", line: "transfer check --checksum photos/ nas.local:/photos"),
        ],
        outcomes: [
            .init(.success, "both are the same"), .init(.uploadsFailed, "they differ; the differences are printed"),
        ]
            + FilesFlags.failures.filter { $0.code != .uploadsFailed },
        places: .any)
}
