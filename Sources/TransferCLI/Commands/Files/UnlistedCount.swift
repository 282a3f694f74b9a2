internal import TransferClient
internal import TransferModel
private import TransferSystem

/// Counts names that cannot be listed because they are not valid in a path, and reports them at the end. Thread-safe.
final class UnlistedCount: Sendable {
    private struct State {
        var folders: [UnlistedNames] = []
        var names: UInt64 = 0
        var hasMore = false
    }

    /// The most folders that are reported one by one. Users find the others once the names in these are fixed.
    private static let mostFolders = 1000

    private let state = Locked(State())

    func add(_ names: UnlistedNames) {
        state.withLock { state in
            state.names = state.names.addingClamped(names.count)
            guard state.folders.count < Self.mostFolders else { return state.hasMore = true }
            state.folders.append(names)
        }
    }

    var isEmpty: Bool { count == 0 }

    var count: UInt64 { state.withLock { $0.names } }

    /// Folders with such names, in the order of lists.
    var folders: [UnlistedNames] {
        state.withLock { $0.folders }.sorted { EntryOrder.precedes($0.folder, $1.folder) }
    }

    /// Prints one line about unlisted names, if there are any.
    func tell() {
        guard let first = folders.first else { return }
        let (count, hasMore) = state.withLock { ($0.names, $0.hasMore || $0.folders.count > 1) }
        let folder = first.folder.isEmpty ? "." : first.folder.escapedForDisplay
        let place = "'\(folder)'\(hasMore ? " and other folders" : "")"
        let (names, them) = count == 1 ? ("1 name is", "it") : ("\(count) names are", "them")
        StandardStream.error.write(
            "transfer: \(names) not listed in \(place): not valid in a path (not UTF-8, too long, or "
                + "reserved by Transfer); rename \(them) on the server\n")
    }

    /// Prints an object for each folder, and then the line of `tell()`.
    func tell(json printer: inout LinePrinter) {
        for names in folders { printer.print(names.json.text) }
        printer.flush()
        tell()
    }
}

extension UnlistedNames {
    /// The object of `--json`; every member is always present.
    fileprivate var json: JSONLine {
        ["schema": .string(JSONSchema.unlisted), "folder": .string(folder), "count": .integer(count)]
    }
}
