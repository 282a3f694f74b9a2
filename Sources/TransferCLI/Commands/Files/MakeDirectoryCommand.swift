private import TransferClient

/// `transfer mkdir`: makes folders on the server.
struct MakeDirectoryCommand {
    private let access: FilesAccess
    private let paths: [String]
    private let reports: ChangeReports

    init(_ arguments: ParsedArguments) throws(UsageError) {
        guard !arguments.operands.isEmpty else { throw arguments.error("nothing to make; name folders") }
        paths = arguments.operands
        reports = ChangeReports(
            verb: "made", isJSON: arguments[Self.json], isQuiet: arguments[FilesFlags.quiet])
        access = try FilesAccess(arguments, quiet: FilesFlags.quiet)
    }

    func run() async -> ExitCode {
        do throws(TransferFailure) {
            let client = try await access.client()
            return try await reports.show(client.makeFolders(paths))
        } catch {
            return error.tell(isJSON: reports.isJSON)
        }
    }
}

extension MakeDirectoryCommand: ProgramCommand {
    private static let json = FilesFlags.json("path")

    static let definition = Command(
        name: "mkdir", summary: "Make folders on the server.", operands: "PATH...",
        description: [
            "Makes each folder, with those above it. What is reported is on the server's disk. A folder that is there already is "
                + "no failure. A push needs none of this: it makes the folders that it stores in.",
            FilesFlags.aboutAccess,
        ],
        flags: [FilesFlags.from.flag, json.flag, ClientFlags.retryFor.flag] + SecurityFlags.all
            + [FilesFlags.quiet.flag, .insecurePermissions, .help],
        examples: [.init(caption: "Make a folder", line: "transfer mkdir nas.local:/photos/2026")],
        outcomes: [.init(.success, "all are there")] + FilesFlags.failures, places: .all)
}
