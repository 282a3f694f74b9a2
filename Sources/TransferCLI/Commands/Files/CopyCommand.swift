private import TransferClient

/// `transfer copy`: copies files and folders on the server.
struct CopyCommand {
    private let given: TargetArguments
    private let isRecursive: Bool

    init(_ arguments: ParsedArguments) throws(UsageError) {
        given = try TargetArguments(arguments)
        isRecursive = arguments[Self.recursive]
    }

    func run() async -> ExitCode {
        do throws(TransferFailure) {
            let client = try await given.access.client()
            let pairs = try await given.pairs(client)
            let unlisted = UnlistedCount()
            var reports = ChangeReports(verb: "copied to", isJSON: given.isJSON, isQuiet: given.isQuiet)
            if !isRecursive { reports.folderAdvice = "Use --recursive to copy it." }
            reports.isSummed = isRecursive
            reports.server = given.access.serverName
            let code = try await reports.show(
                client.copyTrees(pairs, isRecursive: isRecursive, replaces: given.replaces) { unlisted.add($0) })
            unlisted.tell()
            return unlisted.isEmpty ? code : .uploadsFailed
        } catch {
            return error.tell(isJSON: given.isJSON)
        }
    }
}

extension CopyCommand: ProgramCommand {
    private static let recursive = Flag(
        name: "recursive", short: "r", help: "Copy folders with their content."
    ).isOn

    static let definition = Command(
        name: "copy", aliases: ["cp"], summary: "Copy files and folders on the server.", operands: "SOURCE... TARGET",
        description: [
            "Copies SOURCE to the path TARGET, or each SOURCE into the folder TARGET if that exists, "
                + "ends with a slash, or there are several. The content does not leave the server. If the "
                + "server's file system supports it, both files share the content on disk; otherwise it is "
                + "read and compared with the acknowledged digest. A copy is on disk when it is reported, and "
                + "counts against quotas. Missing folders are created.",
            "A copy of a folder keeps symbolic links, hard links among its files, permissions, times and "
                + "extended attributes, and owners if the server runs as root. Links, and permissions and "
                + "times of folders, need the right to remove. An existing folder keeps its content, and the "
                + "copy is merged into it.",
            FilesFlags.aboutAccess,
        ],
        flags: [
            FilesFlags.from.flag, recursive.flag, TargetArguments.overwrites.flag, TargetArguments.json.flag,
            ClientFlags.retryFor.flag,
        ]
            + SecurityFlags.all + [FilesFlags.quiet.flag, .insecurePermissions, .help],
        examples: [
            .init(caption: "Copy a file", line: "transfer copy nas.local:/draft.txt nas.local:/draft-2.txt"),
            .init(
                caption: "Keep a copy of a folder as it is today",
                line: "transfer copy -r nas.local:/work nas.local:/work-monday"
            ),
        ],
        outcomes: [.init(.success, "all were copied")] + FilesFlags.failures, places: .all)
}
