private import TransferClient
private import TransferModel

/// `transfer trash empty`: removes for good what is in the server's trash.
struct TrashEmptyCommand {
    private let access: FilesAccess
    private let batch: TrashedBatch?
    private let isJSON: Bool
    private let isQuiet: Bool

    init(_ arguments: ParsedArguments) throws(UsageError) {
        batch = try TrashedBatch(arguments)
        isJSON = arguments[TrashFlags.json]
        isQuiet = arguments[FilesFlags.quiet]
        access = try FilesAccess(arguments, quiet: FilesFlags.quiet)
    }

    func run() async -> ExitCode {
        do throws(PushFailure) {
            let client = try await access.client()
            let batches = if let batch { [batch] } else { try await client.trash() }
            let reports = client.empty(batches)
            Interruption.watch { reports.cancel() }
            var tally = ResultTally()
            var printer = LinePrinter()
            for try await report in reports {
                // Nobody has named that part, which has nothing of the folder, or something else in the place of it.
                if batch == nil, [.notFound, .invalidPath].contains(report.result) { continue }
                tally.add(report.result)
                if isJSON {
                    printer.print(report.json(isDryRun: false).text)
                } else if !report.result.isSuccess {
                    printer.flush()
                    let reason = report.message.escapedForDisplay
                    StandardStream.error.write("\(report.result)  \(report.path.escapedForDisplay): \(reason)\n")
                } else if !isQuiet {
                    let count = "\(report.files) file\(report.files == 1 ? "" : "s")"
                    printer.print("emptied  \(report.path.escapedForDisplay)  \(count)")
                }
                if !reports.areWaiting { printer.flush() }
            }
            tally.isOutputLost = printer.finish() != .success
            return tally.exitCode
        } catch {
            return error.tell(isJSON: isJSON)
        }
    }
}

extension TrashEmptyCommand: ProgramCommand {
    static let definition = Command(
        name: "trash empty", summary: "Remove for good what is in the server's trash.", operands: "[SERVER]",
        description: [
            "Removes all that is in the trash, or what is in the part that --batch names. It cannot come back, and what it took of a "
                + "quota is free.",
            TrashFlags.about, FilesFlags.aboutAccess,
        ],
        flags: [TrashFlags.batch.flag] + TrashFlags.common,
        examples: [.init(caption: "Make room", line: "transfer trash empty --from nas.local")],
        outcomes: [.init(.success, "it is empty")] + FilesFlags.failures, places: .server)
}
