internal import TransferClient
internal import TransferModel

/// Counts the files in a file or folder on a server, and the bytes of their content.
struct RemoteUsage {
    struct Total {
        var files = 0
        var bytes: UInt64 = 0

        mutating func add(_ entry: RemoteEntry) {
            files += 1
            bytes = bytes.addingClamped(entry.size)
        }
    }

    /// The total of all files.
    private(set) var total = Total()

    /// Totals of subfolders, down to the requested depth.
    private(set) var folders: [PathKey: Total] = [:]

    let isDirectory: Bool

    /// Lists the entry recursively and counts.
    ///
    /// - Parameters:
    ///   - entry: the file or folder, from a stat request.
    ///   - depth: how many levels of subfolders have separate totals.
    ///   - unlisted: counts names that cannot be listed.
    init(
        _ entry: RemoteEntry, on client: TransferClient, depth: Int = 0, _ unlisted: UnlistedCount
    ) async throws(TransferFailure) {
        isDirectory = entry.isDirectory
        guard isDirectory else {
            total.add(entry)
            return
        }
        let top = Self.components(entry.path).count
        var budget = client.listBudget
        let entries = client.list(entry.path, isRecursive: true, wantsDetails: false) { unlisted.add($0) }
        for try await found in entries {
            let above = Self.components(found.path).dropLast(found.isDirectory ? 0 : 1)
            for level in 0..<min(depth, max(0, above.count - top)) {
                let folder = PathKey(above.prefix(top + level + 1).joined(separator: "/"))
                if folders[folder] == nil { try budget.hold(found) }
                if found.isDirectory {
                    folders[folder, default: Total()] = folders[folder] ?? Total()
                } else {
                    folders[folder, default: Total()].add(found)
                }
            }
            if !found.isDirectory { total.add(found) }
        }
    }

    private static func components(_ path: String) -> [Substring] {
        path.utf8.split(separator: UInt8(ascii: "/")).map { Substring($0) }
    }
}
