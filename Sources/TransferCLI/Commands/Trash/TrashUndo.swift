internal import TransferClient
private import TransferModel

/// The hint that says how to restore the files that a command has replaced.
struct TrashUndo {
    private let batches: [String]
    private let count: Int
    private let server: String

    /// The most batches that the suggested command names.
    private static let most = 8

    /// - Parameters:
    ///   - trash: batches of the server's trash, with the number of replaced files in each.
    ///   - server: the server's name in commands.
    /// - Returns: nil if the trash contains no files that the command has replaced.
    init?(_ trash: [TrashedBatch: Int], server: String) {
        guard !trash.isEmpty else { return nil }
        batches = trash.keys.map(\.name).sorted()
        count = trash.values.reduce(0, +)
        self.server = server
    }

    /// The hint, in one line.
    var line: String {
        let files = count == 1 ? "1 replaced file is" : "\(count) replaced files are"
        let place = " --from \(server.escapedForDisplay)"
        guard batches.count <= Self.most else {
            return
                "\(files) in the server's trash; clients that may remove files see them with 'transfer trash "
                + "list\(place)'."
        }
        let parts = batches.map { " --batch \($0)" }.joined()
        let them = count == 1 ? "it" : "them"
        return "\(files) in the server's trash; clients that may remove files restore \(them) with 'transfer trash "
            + "restore\(parts) --overwrite\(place)'."
    }
}
