private import TransferClient
private import TransferModel

/// `transfer move`: moves or renames files and folders on the server.
struct MoveCommand {
    private let given: TargetArguments

    init(_ arguments: ParsedArguments) throws(UsageError) {
        given = try TargetArguments(arguments)
    }

    func run() async -> ExitCode {
        do throws(TransferFailure) {
            let client = try await given.access.client()
            let moves = try await given.pairs(client)
            var reports = ChangeReports(
                verb: "moved", targets: moves.map(\.target), isJSON: given.isJSON, isQuiet: given.isQuiet)
            reports.server = given.access.serverName
            return try await reports.show(client.move(moves, replaces: given.replaces))
        } catch {
            return error.tell(isJSON: given.isJSON)
        }
    }
}

extension MoveCommand: ProgramCommand {
    static let definition = Command(
        name: "move", aliases: ["mv"], summary: "Move or rename files and folders on the server.",
        operands: "SOURCE... TARGET",
        description: [
            "Renames SOURCE to the path TARGET, or moves each SOURCE into the folder TARGET if that "
                + "exists, ends with a slash, or there are several. Each move is one step on the server, and "
                + "on its disk when it is reported. Missing folders are created.",
            "The server keeps the digest of a moved file and what else it has recorded about it. A later "
                + "push of the same source stores it again under its own path.",
            FilesFlags.aboutAccess,
        ],
        flags: [
            FilesFlags.from.flag, TargetArguments.overwrites.flag, TargetArguments.json.flag, ClientFlags.retryFor.flag,
        ] + SecurityFlags.all
            + [FilesFlags.quiet.flag, .insecurePermissions, .help],
        examples: [
            .init(caption: "Rename a file", line: "transfer move nas.local:/draft.txt nas.local:/final.txt"),
            .init(caption: "Move photos into a folder", line: "transfer move a.jpg b.jpg photos/ --from nas.local"),
        ],
        outcomes: [.init(.success, "all were moved")] + FilesFlags.failures, places: .all)
}
