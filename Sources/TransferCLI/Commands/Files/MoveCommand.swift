private import TransferClient
private import TransferModel

/// `transfer move`: gives files and folders on the server other paths.
struct MoveCommand {
    private let access: FilesAccess
    private let sources: [String]
    private let target: String
    private let replaces: Bool
    private let isJSON: Bool
    private let isQuiet: Bool

    init(_ arguments: ParsedArguments) throws(UsageError) {
        guard arguments.operands.count >= 2, let last = arguments.operands.last else {
            throw arguments.error("give what to move and where to: transfer move SOURCE... TARGET")
        }
        (sources, target) = (Array(arguments.operands.dropLast()), last)
        replaces = arguments[Self.overwrites]
        isJSON = arguments[Self.json]
        isQuiet = arguments[FilesFlags.quiet]
        access = try FilesAccess(arguments, quiet: FilesFlags.quiet)
    }

    func run() async -> ExitCode {
        do throws(PushFailure) {
            let client = try await access.client()
            let moves = try await TargetPaths(sources, to: target, on: client).pairs
            let reports = ChangeReports(
                verb: "moved", targets: moves.map(\.target), isJSON: isJSON, isQuiet: isQuiet)
            return try await reports.show(client.move(moves, replaces: replaces))
        } catch {
            return error.tell(isJSON: isJSON)
        }
    }
}

extension MoveCommand: ProgramCommand {
    private static let json = FilesFlags.json("path")

    private static let overwrites = Flag(
        name: "overwrite", help: "Replace a file that has the new path already.",
        details: "Only a file takes the place of a file; a folder is never replaced."
    ).isOn

    static let definition = Command(
        name: "move", aliases: ["mv"], summary: "Move or rename files and folders on the server.",
        operands: "SOURCE... TARGET",
        description: [
            "Gives a SOURCE the path TARGET, or puts each into the folder TARGET: if that is there already, ends with a slash, or if "
                + "there are several. Each is one step on the server, and on its disk when it is reported. Missing folders are made.",
            "The server still knows the digest of what was moved, and what it was told of it. A later push of the same source stores it "
                + "again where it says.",
            FilesFlags.aboutAccess,
        ],
        flags: [FilesFlags.from.flag, overwrites.flag, json.flag, ClientFlags.retryFor.flag] + SecurityFlags.all
            + [FilesFlags.quiet.flag, .help],
        examples: [
            .init(caption: "Rename a file", line: "transfer move draft.txt final.txt --from nas.local"),
            .init(caption: "Put photos into a folder", line: "transfer move a.jpg b.jpg photos/ --from nas.local"),
        ],
        outcomes: [.init(.success, "all were moved")] + FilesFlags.failures, places: .all)
}
