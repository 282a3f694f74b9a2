private import TransferClient
private import TransferModel

/// `transfer pull`: fetches files and folders from the server.
struct PullCommand {
    /// Often enough for an eye, seldom enough for a slow terminal.
    private static let refreshInterval = Duration.milliseconds(200)

    private let access: FilesAccess
    private let paths: [String]
    private let directory: String
    private let output: PushOutput

    init(_ arguments: ParsedArguments) throws(UsageError) {
        guard !arguments.operands.isEmpty else { throw arguments.error("nothing to pull; name files or folders") }
        paths = arguments.operands
        directory = arguments[Self.output]
        output = PushOutput(arguments, json: Self.json, quiet: ClientFlags.quiet)
        let access = try FilesAccess(arguments, quiet: ClientFlags.quiet, Self.choices)
        self.access = output.isJSON ? access : access.askingByFolder
    }

    func run() async -> ExitCode {
        let reporter = PullReporter(output)
        do throws(PushFailure) {
            let refreshing = output.progress != .none ? Task { await refresh(reporter) } : nil
            defer { refreshing?.cancel() }
            let events = try await access.client(reporter).pull(paths, to: directory)
            Interruption.watch { events.cancel() }
            for try await event in events { await reporter.show(event, isLast: !events.areWaiting) }
            return await reporter.finish(nil)
        } catch {
            return await reporter.finish(error)
        }
    }

    private func refresh(_ reporter: PullReporter) async {
        while !Task.isCancelled {
            await reporter.refresh()
            try? await Task.sleep(for: Self.refreshInterval)
        }
    }
}

extension PullCommand: ProgramCommand {
    private static let output = Flag(
        name: "output", short: "o", placeholder: "DIR", help: "The directory to put everything in.",
        details: "It is made if it is missing.", value: .folder
    ).text(default: ".")

    private static let choices = [
        ClientFlags.conflict,
        ClientFlags.serverCompression,
        ClientFlags.lanes(
            "Several carry several files at once. auto uses up to 4, one on a machine with a single core, and "
                + "only as many as there is work for."),
        ClientFlags.digest,
        Flag(
            name: "checksum", help: "Compare the content of files that are here with that on the server.",
            details:
                "Otherwise a file with the size and time of modification of the one on the server is taken for the "
                + "same, without reading it."
        ).isOn.sets(\.comparesContent),
    ]

    private static let json = FilesFlags.json("file")

    static let definition = Command(
        name: "pull", aliases: ["get"], summary: "Fetch files and folders from the server.", operands: "PATH... [DIR]",
        description: [
            "Fetches every PATH into the directory of --output, a folder with everything in it. A file has its name when all of it "
                + "is there, verified and on disk, and not before. Times of modification and permissions are those on the "
                + "server.",
            "A file that is here already is not fetched: one with the size and time of modification of that on the server, or "
                + "with its content. After a lost connection, and when the same "
                + "command is run again after it was interrupted, a long file goes on where it was: what has arrived "
                + "waits in the folder .transfer-parts.",
            FilesFlags.aboutAccess,
        ],
        flags: [FilesFlags.from.flag, output.flag] + choices.map(\.flag) + [json.flag, ClientFlags.retryFor.flag]
            + SecurityFlags.all + [ClientFlags.quiet.flag, ClientFlags.progress.flag, .help],
        examples: [
            .init(caption: "Fetch a file", line: "transfer pull photo.png"),
            .init(
                caption: "Fetch a folder from another machine",
                line: "transfer pull nas.local:/photos/holiday pictures"),
            .init(caption: "Fetch everything, as it is now", line: "transfer pull / -o copy --on-conflict overwrite"),
        ],
        outcomes: [.init(.success, "everything is here")] + FilesFlags.failures, places: .sources(into: output.flag))
}
