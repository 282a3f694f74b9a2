private import TransferClient
private import TransferSystem

/// `transfer watch`: sends files that appear in a directory, until it is stopped.
struct WatchCommand {
    private let access: FilesAccess
    private let directory: String
    private let options: WatchOptions
    private let output: PushOutput

    /// Seconds for which one push tries to connect again, if the watch tries for ever. After that time, the watch
    /// starts another push.
    private static let retryFor = 3600.0

    /// The default of `--retry-for` with `--once`, as for a push.
    private static let retryForOnce = ClientConfiguration().retryFor

    init(_ arguments: ParsedArguments) throws(UsageError) {
        guard arguments.operands.count == 1, let directory = arguments.operands.first, !directory.isEmpty else {
            throw arguments.error("give one directory to watch, and where to send to: transfer watch DIR HOST:/FOLDER")
        }
        self.directory = directory
        var options = WatchOptions()
        options.settle = try arguments[WatchFlags.settle]
        options.afterwards = try Self.afterwards(arguments)
        options.selection = try SelectionFlags.push.selection(arguments)
        options.endsWhenSent = arguments[WatchFlags.endsWhenSent]
        options.retryFor = try arguments[WatchFlags.retryFor] ?? (options.endsWhenSent ? Self.retryForOnce : nil)
        options.journals = ConfigurationFolder.path.map { "\($0)/watches" }
        self.options = options
        output = PushOutput(arguments, json: PushFlags.json, quiet: ClientFlags.quiet)
        let patience = options.retryFor ?? Self.retryFor
        let retriesFirst = arguments.isSet(WatchFlags.retryFor.flag)
        access = try FilesAccess(
            arguments, from: WatchFlags.to, quiet: ClientFlags.quiet,
            WatchFlags.handling + [
                FlagEffect(WatchFlags.retryFor.flag) {
                    ($1.retryFor, $1.retriesFirstConnection) = (patience, retriesFirst)
                }
            ])
    }

    func run() async -> ExitCode {
        let reporter = WatchReporter(output, endsWhenSent: options.endsWhenSent)
        do throws(TransferFailure) {
            let client = try await access.client()
            let events = Interruption.begin({ client.watch(directory, options) }) { $0.cancel() }
            for try await event in events { await reporter.show(event) }
            return await reporter.finish(nil)
        } catch {
            return await reporter.finish(error)
        }
    }

    private static func afterwards(_ arguments: ParsedArguments) throws(UsageError) -> WatchOptions.Afterwards {
        let removes = arguments[WatchFlags.deletesSources]
        guard let folder = arguments[WatchFlags.moveTo] else { return removes ? .isRemoved : .stays }
        guard !removes else { throw arguments.error("--delete-source and --move-to exclude each other") }
        guard !folder.isEmpty else { throw arguments.error("--move-to needs a folder") }
        return .moves(to: folder)
    }
}

extension WatchCommand: ProgramCommand {
    static let definition = Command(
        name: "watch", summary: "Send files that appear in a directory, until stopped.", operands: "DIR",
        description: [
            "Sends every file in and below DIR, then every file that appears or changes there, once it "
                + "has stopped changing. DIR/a/b.jpg is stored as a/b.jpg in the folder of --to. A changed "
                + "file is sent again; by default it is stored beside the older one. Files removed here are "
                + "not removed on the server.",
            "Watch remembers what was acknowledged: started again after it was stopped or killed, it "
                + "continues, and asks the server only about new files. With --delete-source or --move-to it "
                + "asks about every file that is still in DIR.",
            "Files that are still being written are recognised by names such as *.part, *.tmp, "
                + "*.crdownload, *~ and .#*, and excluded unless an --include matches them; "
                + "docs/design/watch.md has the list. Symbolic links are not followed.",
            "Watch runs until stopped, also while the server cannot be reached or DIR does not exist, as "
                + "when a memory card is removed. On SIGTERM or SIGINT it saves what was acknowledged and "
                + "exits with 0; with --once the signal kills it.",
            "The connection is protected as with 'transfer push', and this user may need a key or token "
                + "that the server accepts.",
        ],
        flags: WatchFlags.all,
        examples: [
            .init(
                caption: "Send the files of a camera card whenever it is inserted",
                line: "transfer watch /media/card/DCIM --to home:/camera"),
            .init(
                caption: "Empty the folder of a scanner",
                line: "transfer watch /srv/scans --to home:/scans --move-to /srv/scans/done"),
            .init(
                caption: "Send what is there once, from cron",
                line: "transfer watch --once --quiet outbox --to nas.local"),
        ],
        outcomes: [
            .init(.success, "stopped; with --once, every file is stored"),
            .init(.uploadsFailed, "with --once, a file was not sent; or DIR or --move-to cannot be used"),
        ] + ExitCode.allCases.dropFirst(2).filter { $0 != .unacknowledged && $0 != .undelivered }.map { .init($0) },
        operandValue: .folder, places: .target)
}
