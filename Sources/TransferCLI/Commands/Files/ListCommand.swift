private import TransferClient
private import TransferModel
private import TransferProtocol

/// `transfer list`: prints the entries of a folder on the server.
struct ListCommand {
    private enum Form {
        case plain, long, json, tree
    }

    private let access: FilesAccess
    private let folder: String
    /// Whether the operand names a folder without a server.
    private let isFolderAlone: Bool
    private let form: Form
    private let isRecursive: Bool
    private let isSorted: Bool
    /// The completions to print with `--completions`; nil to print a list.
    private let completions: PlaceCompletions?
    private let unlisted = UnlistedCount()

    init(_ arguments: ParsedArguments) throws(UsageError) {
        guard arguments.operands.count <= 1 else { throw arguments.error("give one folder to list") }
        completions = arguments[Self.completes] ? PlaceCompletions(arguments) : nil
        let forms: [(FlagKey<Bool, Never>, Form)] = [(Self.long, .long), (Self.json, .json), (Self.tree, .tree)]
        let given = forms.filter { arguments[$0.0] }
        guard given.count <= 1 || completions != nil else {
            throw arguments.error("--long, --json and --tree exclude each other")
        }
        form = given.first?.1 ?? .plain
        isSorted = !arguments[Self.unsorted]
        guard isSorted || form != .tree else { throw arguments.error("--tree and --unsorted exclude each other") }
        isRecursive = form == .tree || arguments[Self.recursive]
        folder = arguments.operands.first ?? ""
        isFolderAlone = arguments.places.isEmpty
        access = try FilesAccess(arguments, quiet: FilesFlags.quiet)
    }

    func run() async -> ExitCode {
        if let completions { return await completions.run(access) }
        do throws(TransferFailure) {
            let client = try await access.client()
            let wantsDetails = form == .long || form == .json
            let entries = client.list(folder, isRecursive: isRecursive, wantsDetails: wantsDetails) { [unlisted] in
                unlisted.add($0)
            }
            Interruption.watch { entries.cancel() }
            return try await isSorted ? printSorted(entries, client) : printUnsorted(entries)
        } catch {
            return hinting(error).tell(isJSON: form == .json)
        }
    }

    /// Adds a hint to a failure if the folder has the name of a remote.
    private func hinting(_ failure: TransferFailure) -> TransferFailure {
        guard isFolderAlone, failure.reason == .rejected(.notFound) || failure.reason == .unreachable,
            let file = Environment.configurationFile,
            let remotes = try? ConfigurationEditor(file).remotes(),
            remotes.contains(where: { $0.name.hasSameBytes(as: folder) })
        else { return failure }
        return TransferFailure(
            reason: failure.reason,
            message: "\(failure.message) To list what is on the remote of that name: transfer list \(folder):",
            remedy: failure.remedy)
    }

    private func printUnsorted(_ entries: RequestEvents<RemoteEntry>) async throws(TransferFailure) -> ExitCode {
        var printer = LinePrinter()
        for try await entry in entries {
            printer.print(line(entry))
            if !entries.areWaiting { printer.flush() }
            // Stop listing when the reader has closed the output.
            if printer.isClosed { return .success }
        }
        return end(&printer)
    }

    /// Prints the entries that arrived, even if the list failed later.
    private func printSorted(
        _ entries: RequestEvents<RemoteEntry>, _ client: TransferClient
    ) async throws(TransferFailure) -> ExitCode {
        var (all, failure) = await client.collect(entries)
        all.sort { EntryOrder.precedes($0.path, $1.path) }
        var printer = LinePrinter()
        if form == .tree {
            EntryTree(all, below: folder).print(to: &printer)
        } else {
            for entry in all { printer.print(line(entry)) }
        }
        let code = end(&printer)
        if let failure { throw failure }
        return code
    }

    /// Reports, after the list, the names that could not be listed.
    private func end(_ printer: inout LinePrinter) -> ExitCode {
        if form == .json { unlisted.tell(json: &printer) }
        let code = printer.finish()
        if form != .json { unlisted.tell() }
        return code
    }

    private func line(_ entry: RemoteEntry) -> String {
        switch form {
        case .plain, .tree: entry.shownPath
        case .long: entry.longLine
        case .json: entry.json.text
        }
    }
}

extension ListCommand: ProgramCommand {
    private static let long = Flag(
        name: "long", short: "l", help: "Print size, modification time (UTC), kind and path."
    ).isOn

    private static let json = FilesFlags.json("entry")

    private static let tree = Flag(name: "tree", help: "Draw the folder and all below it as a tree.").isOn

    private static let recursive = Flag(
        name: "recursive", short: "R", help: "List subfolders, too."
    ).isOn

    private static let unsorted = Flag(
        name: "unsorted", short: "U", help: "Print entries as they arrive, unsorted."
    ).isOn

    private static let completes = Flag(
        name: "completions", help: "Print completions of FOLDER for a shell, and no errors.",
        details: "Remotes, or entries of a folder on a server: NAME:/FOLDER/BEGINNING. Stops after 2 s.",
        reach: .nowhere
    ).isOn

    static let definition = Command(
        name: "list", aliases: ["ls"], summary: "List a folder on the server.", operands: "[FOLDER]",
        description: [
            "Prints the entries of FOLDER, or of the folder of --from, one path per line; folders end "
                + "with a slash. Lists are sorted by name in memory, at some 250 bytes per entry; --unsorted "
                + "prints entries at once and keeps none. Names that no path can have are not listed; a "
                + "message at the end counts them.",
            FilesFlags.aboutAccess,
        ],
        flags: [
            FilesFlags.from.flag, long.flag,
            json.flag, tree.flag,
            recursive.flag, unsorted.flag, completes.flag, ClientFlags.retryFor.flag,
        ] + SecurityFlags.all + [FilesFlags.quiet.flag, .insecurePermissions, .help],
        examples: [
            .init(caption: "List what is on the server of this machine", line: "transfer list"),
            .init(
                caption: "List a folder on another machine", line: "transfer list --long nas.local:/photos/2024"),
            .init(
                caption: "Save the digests of all files for a script",
                line: "transfer list --recursive --json --from nas.local > files.jsonl"),
        ],
        outcomes: [.init(.success, "everything was listed")] + FilesFlags.failures,
        flagForEmptyOperands: completes.flag, places: .all)
}
