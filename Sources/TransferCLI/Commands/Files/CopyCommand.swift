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
            if !isRecursive { reports.folderAdvice = "Say --recursive to copy it." }
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
        name: "recursive", short: "r", help: "Copy folders with all that is in them."
    ).isOn

    static let definition = Command(
        name: "copy", aliases: ["cp"], summary: "Copy files and folders on the server.", operands: "SOURCE... TARGET",
        description: [
            "Copies a SOURCE to the path TARGET, or each into the folder TARGET: if that is there already, ends with a slash, or if "
                + "there are several. Nothing of it travels. Where the server's file system can, both share the content on disk; "
                + "elsewhere it is read, and compared with the digest that it was acknowledged with. A copy is on disk when it is "
                + "reported, and counts against quotas. Missing folders are made.",
            "A copy of a folder has all that the server keeps of it: symbolic links as links, names of one file as names of one "
                + "copy, permissions, times and extended attributes, and owners where the server runs as root. This user must be "
                + "allowed to remove, too, to make links and to give folders permissions and times. A folder that is there already "
                + "keeps what is in it, and gets the rest.",
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
                caption: "Keep a folder as it is today", line: "transfer copy -r nas.local:/work nas.local:/work-monday"
            ),
        ],
        outcomes: [.init(.success, "all were copied")] + FilesFlags.failures, places: .all)
}
