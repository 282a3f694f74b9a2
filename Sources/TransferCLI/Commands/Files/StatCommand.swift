private import TransferClient
private import TransferModel

/// `transfer stat`: prints all that the server knows of files and folders.
struct StatCommand {
    private let access: FilesAccess
    private let paths: [String]
    private let isJSON: Bool

    init(_ arguments: ParsedArguments) throws(UsageError) {
        guard !arguments.operands.isEmpty else { throw arguments.error("nothing to look at; name files or folders") }
        paths = arguments.operands
        isJSON = arguments[Self.json]
        access = try FilesAccess(arguments, quiet: FilesFlags.quiet)
    }

    func run() async -> ExitCode {
        do throws(TransferFailure) {
            let reports = try await access.client().stat(paths)
            Interruption.watch { reports.cancel() }
            var tally = ResultTally()
            var printer = LinePrinter()
            var isFirst = true
            for try await report in reports {
                tally.add(report.result)
                guard let entry = report.entry else {
                    let path = report.path.escapedForDisplay
                    // Lines that are already in the buffer must appear before the message.
                    printer.flush()
                    StandardStream.error.write("\(report.result)  \(path): \(report.message.escapedForDisplay)\n")
                    continue
                }
                if isJSON {
                    printer.print(entry.json.text)
                } else {
                    if !isFirst { printer.print("") }
                    for line in Self.lines(entry) { printer.print(line) }
                }
                isFirst = false
            }
            tally.isOutputLost = printer.finish() != .success
            return tally.exitCode
        } catch {
            return error.tell(isJSON: isJSON)
        }
    }

    private static func lines(_ entry: RemoteEntry) -> [String] {
        let facts: [(String, String?)] = [
            ("path", entry.shownPath), ("kind", entry.form),
            ("size", entry.isDirectory ? nil : "\(entry.size) (\(ByteFormat.size(entry.size)))"),
            ("modified", entry.modified.exact), ("permissions", "0" + String(entry.permissions, radix: 8)),
            ("digest", entry.digest?.description), ("stored", entry.stored?.exact),
        ]
        return facts.compactMap { name, value in
            value.map { name + String(repeating: " ", count: 13 - name.utf8.count) + $0 }
        }
    }
}

extension StatCommand: ProgramCommand {
    private static let json = FilesFlags.json("path")

    static let definition = Command(
        name: "stat", summary: "Print what the server knows about files and folders.", operands: "PATH...",
        description: [
            "Prints size, modification time and permissions, and for files that were pushed and have not "
                + "changed since, kind, digest and the time when they were stored.",
            FilesFlags.aboutAccess,
        ],
        flags: [FilesFlags.from.flag, json.flag, ClientFlags.retryFor.flag] + SecurityFlags.all + [
            FilesFlags.quiet.flag, .insecurePermissions, .help,
        ],
        examples: [
            .init(caption: "Look at a file", line: "transfer stat nas.local:/photos/one.jpg"),
            .init(
                caption: "Save a file's digest for a script", line: "transfer stat --json photo.png > photo.json"),
        ],
        outcomes: [.init(.success, "all were found")] + FilesFlags.failures, places: .all)
}
