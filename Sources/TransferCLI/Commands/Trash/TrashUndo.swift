internal import TransferClient
private import TransferModel

/// How what a command has replaced comes back.
struct TrashUndo {
    private let batches: [String]
    private let count: Int
    private let server: String

    /// Parts of the trash that one command names at most.
    private static let most = 8

    /// - Parameters:
    ///   - trash: parts of the server's trash, and how many files of the command each has.
    ///   - server: as commands name it.
    /// - Returns: nil where the trash has nothing of the command.
    init?(_ trash: [TrashedBatch: Int], server: String) {
        guard !trash.isEmpty else { return nil }
        batches = trash.keys.map(\.name).sorted()
        count = trash.values.reduce(0, +)
        self.server = server
    }

    /// One line for people.
    var line: String {
        let files = count == 1 ? "1 replaced file is" : "\(count) replaced files are"
        let place = " --from \(server.escapedForDisplay)"
        guard batches.count <= Self.most else {
            return "\(files) in the server's trash; 'transfer trash list\(place)' shows them."
        }
        let parts = batches.map { " --batch \($0)" }.joined()
        return "\(files) in the server's trash; 'transfer trash restore\(parts) --overwrite\(place)' brings "
            + "\(count == 1 ? "it" : "them") back."
    }
}
