private import TransferClient
private import TransferModel

/// `transfer trash restore`: brings back what was removed on the server.
struct TrashRestoreCommand {
    private let access: FilesAccess
    private let paths: [String]
    private let batch: TrashedBatch?
    private let isJSON: Bool
    private let isQuiet: Bool

    init(_ arguments: ParsedArguments) throws(UsageError) {
        guard !arguments.operands.isEmpty else {
            throw arguments.error("nothing to restore; 'transfer trash list' shows what there is")
        }
        paths = arguments.operands
        batch = try TrashedBatch(arguments)
        isJSON = arguments[TrashFlags.json]
        isQuiet = arguments[FilesFlags.quiet]
        access = try FilesAccess(arguments, quiet: FilesFlags.quiet)
    }

    func run() async -> ExitCode {
        do throws(PushFailure) {
            let client = try await access.client()
            let batches = if let batch { [batch] } else { try await client.trash() }
            let reports = ChangeReports(verb: "restored", isJSON: isJSON, isQuiet: isQuiet)
            var code = ExitCode.success
            for path in paths {
                let ended =
                    if let found = try await newest(path, batches, client) {
                        try await reports.show(client.restore([path], from: found))
                    } else {
                        reports.show(Self.missing(path))
                    }
                if ended != .success { code = ended }
            }
            return code
        } catch {
            return error.tell(isJSON: isJSON)
        }
    }

    /// The newest part of the trash that has the path.
    private func newest(
        _ path: String, _ batches: [TrashedBatch], _ client: TransferClient
    ) async throws(PushFailure) -> TrashedBatch? {
        for batch in batches where try await client.has(path, in: batch) { return batch }
        return nil
    }

    private static func missing(_ path: String) -> ChangeReport {
        ChangeReport(
            path: path, result: .notFound, message: "It is not in the trash; 'transfer trash list' shows what is.")
    }
}

extension TrashedBatch {
    /// What --batch names; nothing without it.
    init?(_ arguments: ParsedArguments) throws(UsageError) {
        guard let name = arguments[TrashFlags.batch] else { return nil }
        guard let batch = TrashedBatch(name) else {
            throw arguments.error(
                "'\(name.escapedForDisplay)' names no part of a trash; 'transfer trash list' shows their names")
        }
        self = batch
    }
}

extension TrashRestoreCommand: ProgramCommand {
    static let definition = Command(
        name: "trash restore", summary: "Bring back what was removed on the server.", operands: "PATH...",
        description: [
            "Brings each file or folder back to the path that it had. Where several were removed under one path, the one that was removed "
                + "last comes back, or with --batch the one in that part of the trash. What has the path by now is not replaced: move that away first.",
            TrashFlags.about, FilesFlags.aboutAccess,
        ],
        flags: [TrashFlags.batch.flag] + TrashFlags.common,
        examples: [.init(caption: "Bring a photo back", line: "transfer trash restore nas.local:/photos/a.jpg")],
        outcomes: [.init(.success, "all are back")] + FilesFlags.failures, places: .all)
}
