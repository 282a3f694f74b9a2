private import TransferClient
private import TransferModel

/// `transfer du`: prints how much space files and folders on the server take.
struct UsageCommand {
    private let access: FilesAccess
    private let paths: [String]
    private let depth: Int
    private let isJSON: Bool

    init(_ arguments: ParsedArguments) throws(UsageError) {
        paths = arguments.operands.isEmpty ? [""] : arguments.operands
        depth = arguments[Self.summarizes] ? 0 : try arguments[Self.depth]
        isJSON = arguments[Self.json]
        access = try FilesAccess(arguments, quiet: FilesFlags.quiet)
    }

    func run() async -> ExitCode {
        do throws(TransferFailure) {
            let client = try await access.client()
            let reports = client.stat(paths)
            Interruption.watch { reports.cancel() }
            var tally = ResultTally()
            var printer = LinePrinter()
            let unlisted = UnlistedCount()
            for try await report in reports {
                tally.add(report.result)
                guard let entry = report.entry else {
                    printer.flush()
                    let path = report.path.escapedForDisplay
                    StandardStream.error.write("\(report.result)  \(path): \(report.message.escapedForDisplay)\n")
                    continue
                }
                show(entry, try await RemoteUsage(entry, on: client, depth: depth, unlisted), &printer)
            }
            if isJSON { unlisted.tell(json: &printer) }
            tally.isOutputLost = printer.finish() != .success
            if !isJSON { unlisted.tell() }
            return tally.exitCode
        } catch {
            return error.tell(isJSON: isJSON)
        }
    }

    /// Prints subfolders before the folder, as du(1) does.
    private func show(_ entry: RemoteEntry, _ usage: RemoteUsage, _ printer: inout LinePrinter) {
        for (folder, total) in usage.folders.sorted(by: { EntryOrder.precedes($0.key.string, $1.key.string) }) {
            show(folder.string, isDirectory: true, total, &printer)
        }
        show(entry.path, isDirectory: usage.isDirectory, usage.total, &printer)
    }

    private func show(
        _ path: String, isDirectory: Bool, _ total: RemoteUsage.Total, _ printer: inout LinePrinter
    ) {
        guard !isJSON else {
            let line: JSONLine = [
                "schema": .string(JSONSchema.usage), "path": .string(path), "files": .integer(UInt64(total.files)),
                "bytes": .integer(total.bytes),
            ]
            return printer.print(line.text)
        }
        let size = ByteFormat.size(total.bytes)
        let shown = path.isEmpty ? "." : path.escapedForDisplay + (isDirectory ? "/" : "")
        let files = "\(total.files) file\(total.files == 1 ? "" : "s")"
        printer.print(String(repeating: " ", count: max(0, 8 - size.utf8.count)) + "\(size)  \(shown)  \(files)")
    }
}

extension UsageCommand: ProgramCommand {
    private static let json = FilesFlags.json("path")

    private static let depth = Flag(
        name: "depth", placeholder: "N", help: "Print subfolders down to N levels."
    ).count(in: 0...128, default: 1)

    private static let summarizes = Flag(
        name: "summarize", short: "s", help: "Print one line for each PATH, like --depth 0."
    )
    .isOn

    static let definition = Command(
        name: "du", summary: "Show how much space files and folders on the server take.", operands: "[PATH...]",
        description: [
            "Prints number and total size of all files in each PATH, or in the folder of --from, after "
                + "those of its subfolders. Sizes are those of the content. A file with several hard links "
                + "counts once for each. Names that no path can have are not counted; a message at the end "
                + "says how many there are.",
            FilesFlags.aboutAccess,
        ],
        flags: [
            FilesFlags.from.flag, depth.flag, summarizes.flag, json.flag, ClientFlags.retryFor.flag,
        ] + SecurityFlags.all + [FilesFlags.quiet.flag, .insecurePermissions, .help],
        examples: [
            .init(caption: "See what takes space", line: "transfer du nas.local:/photos"),
            .init(caption: "Print one total", line: "transfer du -s nas.local:/photos"),
        ],
        outcomes: [.init(.success, "all were counted")] + FilesFlags.failures, places: .all)
}
