internal import TransferClient
private import TransferModel

/// `transfer list --completions`: prints completions for the beginning of a path on a server.
struct PlaceCompletions {
    /// The longest time to wait for the server, because the user who has pressed Tab waits as well.
    private static let patience = Duration.seconds(2)

    /// The most names that are kept, because no user looks through more.
    private static let mostNames = 100_000

    /// The word that the shell wants to complete.
    private let word: String

    /// The path in the word, if the word or the configuration names a server; nil otherwise.
    private let path: String?

    /// Whether the word contains a server. If it does, names of remotes cannot complete it.
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

    /// Completions of a path: the entries on the server whose paths begin with it.
    private func paths(_ path: String, _ access: FilesAccess) async -> [String] {
        let name = Self.name(of: path)
        // In a link, the name can be percent-encoded, so the word may not end with it.
        guard word.utf8.count >= name.utf8.count, word.utf8.reversed().starts(with: name.utf8.reversed()) else {
            return []
        }
        let folder = String(Substring(path.utf8.dropLast(name.utf8.count)))
        let typed = String(Substring(word.utf8.dropLast(name.utf8.count)))
        let start = typed + (word.utf8.last == UInt8(ascii: ":") ? "/" : "")
        return await entries(of: folder, access).filter { $0.utf8.starts(with: name.utf8) }.map { start + $0 }
    }

    /// The names of remotes, each with a colon.
    private var remotes: [String] {
        let all = Environment.configurationFile.map { try? ConfigurationEditor($0).remotes() } ?? nil
        return (all ?? []).map { "\($0.name):" }
    }

    /// The names of the entries of a folder, with a slash after folders; empty if the server does not answer in time.
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

    /// Prints the words, but no names with line feeds, which a shell would read as two words.
    private func print(_ words: [String]) {
        var printer = LinePrinter()
        for word in words.sorted(by: EntryOrder.precedes) where !word.utf8.contains(UInt8(ascii: "\n")) {
            printer.print(word)
        }
        printer.flush()
    }

    /// The part after the last slash.
    private static func name(of path: String) -> String {
        let slash = path.utf8.lastIndex(of: UInt8(ascii: "/"))
        return String(Substring(path.utf8[(slash.map { path.utf8.index(after: $0) } ?? path.utf8.startIndex)...]))
    }
}
