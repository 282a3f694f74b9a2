private import TransferClient
private import TransferModel

/// `transfer trash empty`: permanently removes what is in the server's trash.
struct TrashEmptyCommand {
    private let access: FilesAccess
    private let batches: [TrashedBatch]
    private let isJSON: Bool
    private let isQuiet: Bool

    init(_ arguments: ParsedArguments) throws(UsageError) {
        batches = try TrashedBatch.all(arguments)
        isJSON = arguments[TrashFlags.json]
        isQuiet = arguments[FilesFlags.quiet]
        access = try FilesAccess(arguments, quiet: FilesFlags.quiet)
    }

    func run() async -> ExitCode {
        do throws(TransferFailure) {
            let client = try await access.client()
            let chosen = batches.isEmpty ? try await client.trash() : batches
            let reports = client.empty(chosen)
            Interruption.watch { reports.cancel() }
            var tally = ResultTally()
            var printer = LinePrinter()
            for try await report in reports {
                // Without `--batch`, batches that contain no entries of this folder are skipped.
                if batches.isEmpty, [.notFound, .invalidPath].contains(report.result) { continue }
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
        name: "trash empty", summary: "Empty the server's trash.", operands: "[SERVER]",
        description: [
            "Permanently removes everything in the trash, or in the trash batch that --batch names. It cannot "
                + "be restored, and no longer counts against a quota.",
            TrashFlags.about, FilesFlags.aboutAccess,
        ],
        flags: [TrashFlags.batch.flag] + TrashFlags.common,
        examples: [.init(caption: "Free space", line: "transfer trash empty --from nas.local")],
        outcomes: [.init(.success, "the trash is empty")] + FilesFlags.failures, places: .server)
}
