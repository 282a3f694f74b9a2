private import TransferClient
private import TransferSystem

/// `transfer watch`: sends what appears in a directory, until it is stopped.
struct WatchCommand {
    private let access: FilesAccess
    private let directory: String
    private let options: WatchOptions
    private let output: PushOutput

    /// Seconds for which a push tries a connection again by itself, where it goes on for ever: the watch begins another
    /// one then.
    private static let retryFor = 3600.0

    /// The same with `--once`, as a push does.
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
        name: "watch", summary: "Send what appears in a directory, until it is stopped.", operands: "DIR",
        description: [
            "Sends every file that is in DIR and below, and whatever appears there or changes later, when it has come to rest. "
                + "DIR/a/b.jpg is stored as a/b.jpg in the folder of --to. A file that changes is sent again; by default it is "
                + "stored beside the older one. Nothing that is removed here is removed there.",
            "What was acknowledged is remembered, so the same command goes on where it was stopped or killed, and asks the server only "
                + "about what is new. With --delete-source and --move-to it asks about everything that is still there.",
            "Names of what is still being written are left out, such as *.part, *.tmp, *.crdownload, *~ and .#*; an --include brings them "
                + "back. docs/design/watch.md has the list. Symbolic links are not followed.",
            "It goes on for ever: when the server cannot be reached, and when DIR is not there, such as that of a card which was taken "
                + "out. SIGTERM and SIGINT end it, with success, when what is acknowledged is remembered; with --once it dies of them.",
            "The connection is protected as with 'transfer push', and this user may need a key or token that the server knows.",
        ],
        flags: WatchFlags.all,
        examples: [
            .init(
                caption: "Send what a camera card has, whenever it is put in",
                line: "transfer watch /media/card/DCIM --to home:/camera"),
            .init(
                caption: "Empty the folder of a scanner",
                line: "transfer watch /srv/scans --to home:/scans --move-to /srv/scans/done"),
            .init(
                caption: "Send once what is there, from cron",
                line: "transfer watch --once --quiet outbox --to nas.local"),
        ],
        outcomes: [
            .init(.success, "it was stopped; with --once, everything that was there is stored"),
            .init(.uploadsFailed, "with --once, something was not sent; or DIR or --move-to cannot be used"),
        ] + ExitCode.allCases.dropFirst(2).filter { $0 != .unacknowledged && $0 != .undelivered }.map { .init($0) },
        operandValue: .folder, places: .target)
}
