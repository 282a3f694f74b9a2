internal import TransferClient
internal import TransferModel

/// `transfer remove`: removes files and folders on the server.
struct RemoveCommand {
    private let access: FilesAccess
    private let paths: [String]
    private let isRecursive: Bool
    private let keepsInTrash: Bool
    private let isDryRun: Bool
    private let isJSON: Bool
    private let isQuiet: Bool

    init(_ arguments: ParsedArguments) throws(UsageError) {
        guard !arguments.operands.isEmpty else { throw arguments.error("nothing to remove; name files or folders") }
        for word in arguments.words { try Self.refuseBareServer(word, arguments) }
        paths = arguments.operands
        isRecursive = arguments[Self.recursive]
        keepsInTrash = arguments[Self.trash]
        isDryRun = arguments[Self.dryRun]
        isJSON = arguments[Self.json]
        isQuiet = arguments[FilesFlags.quiet]
        access = try FilesAccess(arguments, quiet: FilesFlags.quiet)
    }

    /// Refuses a server without a path: if a variable is unset, `home:$FOLDER` becomes `home:`, which other commands
    /// interpret as the top folder.
    private static func refuseBareServer(_ word: String, _ arguments: ParsedArguments) throws(UsageError) {
        guard let place = ServerPlace(word), place.path == "/", word.utf8.last != UInt8(ascii: "/") else { return }
        throw arguments.error(
            "'\(word.escapedForDisplay)' names a server without a path; to remove everything there, append '/'")
    }

    func run() async -> ExitCode {
        do throws(TransferFailure) {
            let client = try await access.client()
            guard !isDryRun else { return try await foresee(client) }
            let reports = client.remove(paths, isRecursive: isRecursive, keepsInTrash: keepsInTrash)
            Interruption.watch { reports.cancel() }
            var tally = ResultTally()
            var printer = LinePrinter()
            for try await report in reports {
                tally.add(report.result)
                show(report, &printer)
                if !reports.areWaiting { printer.flush() }
            }
            tally.isOutputLost = printer.finish() != .success
            return tally.exitCode
        } catch {
            return error.tell(isJSON: isJSON)
        }
    }

    /// Prints what would be removed.
    private func foresee(_ client: TransferClient) async throws(TransferFailure) -> ExitCode {
        let foresight = RemovalForesight(
            client: client, isRecursive: isRecursive, terms: try await client.removalTerms(keepsInTrash: keepsInTrash))
        let reports = client.stat(paths)
        Interruption.watch { reports.cancel() }
        var tally = ResultTally()
        var printer = LinePrinter()
        for try await report in reports {
            let report = try await foresight.report(report)
            tally.add(report.result)
            show(report, &printer)
        }
        tally.isOutputLost = printer.finish() != .success
        foresight.unlisted.tell()
        return tally.exitCode
    }

    private func show(_ report: RemovalReport, _ printer: inout LinePrinter) {
        let path = report.path.isEmpty ? "." : report.path.escapedForDisplay
        if isJSON {
            printer.print(report.json(isDryRun: isDryRun).text)
        } else if !report.result.isSuccess {
            let advice = report.result == .wrongForm && !isRecursive ? " Use --recursive to remove it." : ""
            let reason = report.message.escapedForDisplay + advice
            // Lines that are already in the buffer must appear before the message.
            printer.flush()
            StandardStream.error.write("\(report.result)  \(path): \(reason)\n")
        } else if !isQuiet {
            printer.print("\(verb(report))  \(path)\(count(report))")
        }
    }

    private func verb(_ report: RemovalReport) -> String {
        switch (isDryRun, report.isInTrash) {
        case (true, true): "would go to the trash"
        case (true, false): "would remove"
        case (false, true): "went to the trash"
        case (false, false): "removed"
        }
    }

    /// The number of files; empty if it is unknown, because the server does not count what it moves to the trash.
    private func count(_ report: RemovalReport) -> String {
        guard isRecursive, isDryRun || !report.isInTrash else { return "" }
        return "  \(report.files) file\(report.files == 1 ? "" : "s")"
    }
}

extension RemovalReport {
    /// The object of `--json`; every member is always present.
    func json(isDryRun: Bool) -> JSONLine {
        [
            "schema": .string(JSONSchema.removal), "path": .string(path), "result": .string(result.name),
            "files": .integer(files), "durable": .bool(isDurable), "message": .string(message),
            "trash": .bool(isInTrash), "dryRun": .bool(isDryRun),
        ]
    }
}

extension RemoveCommand: ProgramCommand {
    private static let json = FilesFlags.json("path")

    private static let recursive = Flag(
        name: "recursive", short: "r", help: "Remove folders with their content."
    ).isOn

    private static let dryRun = Flag(
        name: "dry-run", short: "n", help: "Print what would be removed, without removing anything."
    ).isOn

    private static let trash = Flag(
        name: "trash", help: "Move it to the server's trash, from which it can be restored for a while.",
        details: "A server with a trash does so with everything that is removed. See 'transfer help trash'."
    ).isOn

    static let definition = Command(
        name: "remove", aliases: ["rm"], summary: "Remove files and folders on the server.", operands: "PATH...",
        description: [
            "Moves each PATH to the server's trash, if the server has one, as every new directory does, or "
                + "--trash is given; otherwise removes it permanently. What is in the trash still takes room "
                + "and counts against a quota. Folders are removed only with --recursive.",
            FilesFlags.aboutAccess,
        ],
        flags: [
            FilesFlags.from.flag, recursive.flag, trash.flag, dryRun.flag, json.flag,
            ClientFlags.retryFor.flag,
        ] + SecurityFlags.all + [FilesFlags.quiet.flag, .insecurePermissions, .help],
        examples: [
            .init(caption: "Remove a file", line: "transfer remove nas.local:/photos/blurred.jpg"),
            .init(caption: "See how many files are in a folder", line: "transfer remove -nr nas.local:/photos/2019"),
            .init(caption: "Remove a folder", line: "transfer remove --recursive nas.local:/photos/2019"),
        ],
        outcomes: [.init(.success, "all were removed")] + FilesFlags.failures, places: .all)
}
