private import TransferClient
private import TransferModel

/// `transfer copy`: copies files and folders on the server.
struct CopyCommand {
    private let given: TargetArguments
    private let isRecursive: Bool

    init(_ arguments: ParsedArguments) throws(UsageError) {
        given = try TargetArguments(arguments)
        isRecursive = arguments[Self.recursive]
    }

    func run() async -> ExitCode {
        do throws(PushFailure) {
            let client = try await given.access.client()
            let pairs = try await given.pairs(client)
            let plan = try await expanded(pairs, client)
            var reports = ChangeReports(verb: "made", isJSON: given.isJSON, isQuiet: given.isQuiet)
            let made = try await reports.show(client.makeFolders(plan.folders))
            reports = ChangeReports(verb: "copied to", isJSON: given.isJSON, isQuiet: given.isQuiet)
            let copied = try await reports.show(client.copy(plan.files, replaces: given.replaces))
            return plan.isWhole && made == .success ? copied : .uploadsFailed
        } catch {
            return error.tell(isJSON: given.isJSON)
        }
    }

    /// What folders come to: the folders in them, and the files.
    private struct Plan {
        var folders: [String] = []
        var files: [(path: String, target: String)] = []
        /// Whether nothing is missing of what was named, or in it.
        var isWhole = true
    }

    private func expanded(
        _ pairs: [(path: String, target: String)], _ client: TransferClient
    ) async throws(PushFailure) -> Plan {
        var (plan, budget) = (Plan(), client.listBudget)
        var index = 0
        for try await report in client.stat(pairs.map(\.path)) {
            guard pairs.indices.contains(index) else { break }
            let (path, target) = pairs[index]
            index += 1
            guard let entry = report.entry, isRecursive || !entry.isDirectory else {
                let isFolder = report.entry != nil
                let reason = isFolder ? "It is a folder; say --recursive to copy it." : report.message.escapedForDisplay
                let result = isFolder ? ResultCode.wrongForm : report.result
                StandardStream.error.write("\(result)  \(path.escapedForDisplay): \(reason)\n")
                plan.isWhole = false
                continue
            }
            guard entry.isDirectory else {
                plan.files.append((path, target))
                continue
            }
            plan.folders.append(target)
            let unlisted = UnlistedCount()
            // All of it is known before anything is copied: a folder may be copied into itself.
            let entries = client.list(entry.path, isRecursive: true, wantsDetails: false) { unlisted.add($0) }
            for try await found in entries {
                try budget.hold(found)
                let below = String(decoding: found.path.utf8.dropFirst(entry.path.utf8.count), as: UTF8.self)
                let place = target + (below.utf8.first == UInt8(ascii: "/") ? below : "/" + below)
                if found.isDirectory { plan.folders.append(place) } else { plan.files.append((found.path, place)) }
            }
            unlisted.tell()
            if !unlisted.isEmpty { plan.isWhole = false }
        }
        return plan
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
            FilesFlags.aboutAccess,
        ],
        flags: [
            FilesFlags.from.flag, recursive.flag, TargetArguments.overwrites.flag, TargetArguments.json.flag,
            ClientFlags.retryFor.flag,
        ]
            + SecurityFlags.all + [FilesFlags.quiet.flag, .help],
        examples: [
            .init(caption: "Copy a file", line: "transfer copy nas.local:/draft.txt nas.local:/draft-2.txt"),
            .init(
                caption: "Keep a folder as it is today", line: "transfer copy -r nas.local:/work nas.local:/work-monday"
            ),
        ],
        outcomes: [.init(.success, "all were copied")] + FilesFlags.failures, places: .all)
}
