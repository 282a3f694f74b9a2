internal import TransferClient
private import TransferModel

/// `transfer trash restore`: restores what was removed on the server.
struct TrashRestoreCommand {
    private let access: FilesAccess
    private let paths: [String]
    private let batches: [TrashedBatch]
    private let replaces: Bool
    private let isJSON: Bool
    private let isQuiet: Bool

    init(_ arguments: ParsedArguments) throws(UsageError) {
        batches = try TrashedBatch.all(arguments)
        guard !arguments.operands.isEmpty || !batches.isEmpty else {
            throw arguments.error("nothing to restore; 'transfer trash list' shows what there is")
        }
        paths = arguments.operands
        replaces = arguments[Self.overwrites]
        isJSON = arguments[TrashFlags.json]
        isQuiet = arguments[FilesFlags.quiet]
        access = try FilesAccess(arguments, quiet: FilesFlags.quiet)
    }

    func run() async -> ExitCode {
        do throws(TransferFailure) {
            let client = try await access.client()
            if paths.isEmpty { return try await restoreAll(client) }
            let batches = batches.isEmpty ? try await client.trash() : batches
            let reports = ChangeReports(verb: "restored", isJSON: isJSON, isQuiet: isQuiet)
            var code = ExitCode.success
            for path in paths {
                let ended =
                    if let found = try await newest(path, batches, client) {
                        try await reports.show(client.restore([path], from: found, replacing: replaces))
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

    /// Restores everything in the batches. The newest batch comes last, so that its versions replace older ones.
    private func restoreAll(_ client: TransferClient) async throws(TransferFailure) -> ExitCode {
        let reports = ChangeReports(verb: "restored", isJSON: isJSON, isQuiet: isQuiet)
        var code = ExitCode.success
        for batch in batches.sorted(by: { $0.name < $1.name }) {
            let (all, failure) = await client.collect(client.list(batch))
            if let failure { throw failure }
            let paths = all.filter { !$0.isDirectory }.map(\.path).sorted { EntryOrder.precedes($0, $1) }
            guard !paths.isEmpty else {
                code = reports.show(Self.missing(batch.name))
                continue
            }
            let ended = try await reports.show(client.restore(paths, from: batch, replacing: replaces))
            if ended != .success { code = ended }
        }
        return code
    }

    /// The newest batch that contains the path; nil if no batch does.
    private func newest(
        _ path: String, _ batches: [TrashedBatch], _ client: TransferClient
    ) async throws(TransferFailure) -> TrashedBatch? {
        for batch in batches where try await client.has(path, in: batch) { return batch }
        return nil
    }

    private static func missing(_ path: String) -> ChangeReport {
        ChangeReport(
            path: path, result: .notFound, message: "It is not in the trash; 'transfer trash list' shows what is.")
    }
}

extension TrashedBatch {
    /// The batches that `--batch` names; empty without it.
    static func all(_ arguments: ParsedArguments) throws(UsageError) -> [TrashedBatch] {
        try arguments[TrashFlags.batch].map { (name) throws(UsageError) in
            guard let batch = TrashedBatch(name) else {
                throw arguments.error(
                    "'\(name.escapedForDisplay)' is not the name of a trash batch; 'transfer trash "
                        + "list' shows the names")
            }
            return batch
        }
    }
}

extension TrashRestoreCommand: ProgramCommand {
    private static let overwrites = Flag(
        name: "overwrite", help: "Replace files and links that have the paths now.",
        details: "They go to the trash if the server has one."
    ).isOn

    static let definition = Command(
        name: "trash restore", summary: "Restore what was removed or replaced on the server.", operands: "[PATH...]",
        description: [
            "Restores each file or folder to its former path. If several were removed or replaced there, "
                + "the latest is restored, or with --batch the one in that trash batch. With --batch and "
                + "without PATH, everything in that batch is restored. What has the path now is replaced only "
                + "with --overwrite, and then goes to the trash itself, so that this can be undone.",
            TrashFlags.about, FilesFlags.aboutAccess,
        ],
        flags: [TrashFlags.batch.flag, overwrites.flag] + TrashFlags.common,
        examples: [
            .init(caption: "Restore a photo", line: "transfer trash restore nas.local:/photos/a.jpg"),
            .init(
                caption: "Restore a photo as it was before it was replaced",
                line: "transfer trash restore --overwrite nas.local:/photos/a.jpg"),
        ],
        outcomes: [.init(.success, "all were restored")] + FilesFlags.failures, places: .all)
}
