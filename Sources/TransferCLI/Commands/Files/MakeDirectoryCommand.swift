private import TransferClient

/// `transfer mkdir`: creates folders on the server.
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
        name: "mkdir", summary: "Create folders on the server.", operands: "PATH...",
        description: [
            "Creates each folder, and its missing parents. A folder is on the server's disk when it is "
                + "reported. An existing folder is not an error. 'transfer push' creates the folders that it "
                + "needs.",
            FilesFlags.aboutAccess,
        ],
        flags: [FilesFlags.from.flag, json.flag, ClientFlags.retryFor.flag] + SecurityFlags.all
            + [FilesFlags.quiet.flag, .insecurePermissions, .help],
        examples: [.init(caption: "Create a folder", line: "transfer mkdir nas.local:/photos/2026")],
        outcomes: [.init(.success, "all folders exist")] + FilesFlags.failures, places: .all)
}
