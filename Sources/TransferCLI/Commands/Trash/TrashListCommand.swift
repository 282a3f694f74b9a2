private import TransferClient
private import TransferModel

/// `transfer trash list`: prints what is in the server's trash.
struct TrashListCommand {
    private let access: FilesAccess
    private let isJSON: Bool
    /// A path below the folder of the server's address; nil for all paths.
    private let path: String?

    init(_ arguments: ParsedArguments) throws(UsageError) {
        isJSON = arguments[TrashFlags.json]
        path = arguments[Self.ofPath]
        access = try FilesAccess(arguments, quiet: FilesFlags.quiet)
    }

    func run() async -> ExitCode {
        do throws(TransferFailure) {
            let client = try await access.client()
            var printer = LinePrinter()
            for batch in try await client.trash() {
                // One request shows whether the batch contains the path, so the batch need not be listed.
                if let path, try await !client.has(path, in: batch) { continue }
                let (all, failure) = await client.collect(client.list(batch))
                if let failure { throw failure }
                let entries = all.filter { !$0.isDirectory && isWanted($0.path) }.sorted {
                    EntryOrder.precedes($0.path, $1.path)
                }
                for entry in entries { printer.print(isJSON ? json(entry, batch).text : line(entry, batch)) }
                printer.flush()
            }
            return printer.finish()
        } catch {
            return error.tell(isJSON: isJSON)
        }
    }

    private func isWanted(_ found: String) -> Bool {
        guard let path else { return true }
        let wanted = path.split(separator: "/").joined(separator: "/")
        return found.hasSameBytes(as: wanted) || found.utf8.starts(with: "\(wanted)/".utf8)
    }

    private func line(_ entry: RemoteEntry, _ batch: TrashedBatch) -> String {
        "\(batch.name)  \(entry.path.escapedForDisplay)  \(ByteFormat.size(entry.size))"
    }

    /// The object of `--json`; every member is always present.
    private func json(_ entry: RemoteEntry, _ batch: TrashedBatch) -> JSONLine {
        [
            "schema": .string(JSONSchema.trashed), "batch": .string(batch.name), "removed": .string(batch.time),
            "path": .string(entry.path), "size": .integer(entry.size),
        ]
    }
}

extension TrashListCommand: ProgramCommand {
    private static let ofPath = Flag(
        name: "path", placeholder: "PATH", help: "List only the versions of this file, or of the files in this folder."
    ).text

    static let definition = Command(
        name: "trash list", summary: "List the server's trash.", operands: "[SERVER]",
        description: [
            "Prints each file and link in the trash: the trash batch that it is in, whose name "
                + "begins with the time of removal (UTC), its former path, and its size. The newest come "
                + "first, so --path lists the versions of a file.",
            TrashFlags.about, FilesFlags.aboutAccess,
        ],
        flags: [ofPath.flag] + TrashFlags.common,
        examples: [
            .init(caption: "See what can be restored", line: "transfer trash list --from nas.local"),
            .init(
                caption: "See the versions of a photo", line: "transfer trash list --path photos/a.jpg --from nas.local"
            ),
        ],
        outcomes: [.init(.success, "everything was listed")] + FilesFlags.failures, places: .server)
}
