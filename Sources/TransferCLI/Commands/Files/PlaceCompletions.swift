internal import TransferClient
private import TransferModel

/// `transfer list --completions`: what shells offer for the beginning of a place on a server.
struct PlaceCompletions {
    /// As long as somebody waits who has typed a tab.
    private static let patience = Duration.seconds(2)

    /// Names that are held: more than anybody looks through.
    private static let mostNames = 100_000

    /// What is typed so far.
    private let word: String

    /// That of the word, on the server that it names or that this user has chosen; nothing without either.
    private let path: String?

    /// Whether the word has a server in it, so that it is none itself.
    private let hasServer: Bool

    init(_ arguments: ParsedArguments) {
        word = arguments.words.last ?? ""
        hasServer = !arguments.places.isEmpty
        path = hasServer || arguments.isSet(FilesFlags.from) ? arguments.operands.last ?? "" : nil
    }

    func run(_ access: FilesAccess) async -> ExitCode {
        var words = hasServer ? [] : remotes.filter { $0.utf8.starts(with: word.utf8) }
        if let path { words += await paths(path, access) }
        print(words)
        return .success
    }

    /// Words for what is on the server and begins as the path does.
    private func paths(_ path: String, _ access: FilesAccess) async -> [String] {
        let name = Self.name(of: path)
        // The name of a link's path can be written in other ways.
        guard word.utf8.count >= name.utf8.count, word.utf8.reversed().starts(with: name.utf8.reversed()) else {
            return []
        }
        let folder = String(Substring(path.utf8.dropLast(name.utf8.count)))
        let typed = String(Substring(word.utf8.dropLast(name.utf8.count)))
        let start = typed + (word.utf8.last == UInt8(ascii: ":") ? "/" : "")
        return await entries(of: folder, access).filter { $0.utf8.starts(with: name.utf8) }.map { start + $0 }
    }

    /// Names with the sign that ends them.
    private var remotes: [String] {
        let all = Environment.configurationFile.map { try? ConfigurationEditor($0).remotes() } ?? nil
        return (all ?? []).map { "\($0.name):" }
    }

    /// The names of what is in a folder, those of folders with a slash. What cannot be listed in time has none.
    private func entries(of folder: String, _ access: FilesAccess) async -> [String] {
        guard let client = try? await access.client(asks: false) else { return [] }
        let entries = client.list(folder)
        let timer = Task {
            try? await Task.sleep(for: Self.patience)
            entries.cancel()
        }
        defer { timer.cancel() }
        var names: [String] = []
        do throws(TransferFailure) {
            for try await entry in entries {
                guard names.count < Self.mostNames else { return names }
                names.append(Self.name(of: entry.path) + (entry.isDirectory ? "/" : ""))
            }
        } catch {
            return names
        }
        return names
    }

    /// A name with a line feed in it would be two, and no shell could tell.
    private func print(_ words: [String]) {
        var printer = LinePrinter()
        for word in words.sorted(by: EntryOrder.precedes) where !word.utf8.contains(UInt8(ascii: "\n")) {
            printer.print(word)
        }
        printer.flush()
    }

    /// What stands behind the last slash.
    private static func name(of path: String) -> String {
        let slash = path.utf8.lastIndex(of: UInt8(ascii: "/"))
        return String(Substring(path.utf8[(slash.map { path.utf8.index(after: $0) } ?? path.utf8.startIndex)...]))
    }
}
