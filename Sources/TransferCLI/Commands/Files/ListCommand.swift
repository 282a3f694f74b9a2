private import TransferClient
private import TransferModel
private import TransferProtocol

/// `transfer list`: prints what is in a folder on the server.
struct ListCommand {
    private enum Form {
        case plain, long, json, tree
    }

    private let access: FilesAccess
    private let folder: String
    private let form: Form
    private let isRecursive: Bool
    private let isSorted: Bool

    init(_ arguments: ParsedArguments) throws(UsageError) {
        guard arguments.operands.count <= 1 else { throw arguments.error("one folder can be listed at once") }
        let forms: [(String, Form)] = [("long", .long), ("json", .json), ("tree", .tree)]
        let given = forms.filter { arguments.isSet($0.0) }
        guard given.count <= 1 else { throw arguments.error("--long, --json and --tree exclude each other") }
        form = given.first?.1 ?? .plain
        isSorted = !arguments.isSet("unsorted")
        guard isSorted || form != .tree else { throw arguments.error("--tree cannot be --unsorted") }
        isRecursive = form == .tree || arguments.isSet("recursive")
        folder = arguments.operands.first ?? ""
        access = try FilesAccess(arguments)
    }

    func run() async -> ExitCode {
        do throws(PushFailure) {
            let client = try await access.client()
            let wantsDetails = form == .long || form == .json
            let entries = client.list(folder, isRecursive: isRecursive, wantsDetails: wantsDetails)
            Interruption.watch { entries.cancel() }
            return try await isSorted ? printSorted(entries) : printUnsorted(entries)
        } catch {
            return error.tell()
        }
    }

    private func printUnsorted(_ entries: RequestEvents<RemoteEntry>) async throws(PushFailure) -> ExitCode {
        var printer = LinePrinter()
        for try await entry in entries {
            printer.print(line(entry))
            if !entries.areWaiting { printer.flush() }
            // Who reads no more wants no more.
            if printer.isClosed { return .success }
        }
        return printer.finish()
    }

    /// What can be shown is shown, also when something could not be listed.
    private func printSorted(_ entries: RequestEvents<RemoteEntry>) async throws(PushFailure) -> ExitCode {
        var all: [RemoteEntry] = []
        var failure: PushFailure?
        do throws(PushFailure) {
            for try await entry in entries { all.append(entry) }
        } catch {
            failure = error
        }
        all.sort { EntryOrder.precedes($0.path, $1.path) }
        var printer = LinePrinter()
        if form == .tree {
            EntryTree(all, below: folder).print(to: &printer)
        } else {
            for entry in all { printer.print(line(entry)) }
        }
        let code = printer.finish()
        if let failure { throw failure }
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
