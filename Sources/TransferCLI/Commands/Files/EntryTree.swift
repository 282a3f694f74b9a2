internal import TransferClient
private import TransferModel

/// Draws entries as a tree.
struct EntryTree {
    /// The entries, sorted by `EntryOrder`.
    private let entries: [RemoteEntry]
    private let depths: [Int]
    private let top: String

    /// - Parameters:
    ///   - entries: the entries, sorted by `EntryOrder`.
    ///   - folder: the folder that was listed.
    init(_ entries: [RemoteEntry], below folder: String) {
        self.entries = entries
        let depths = entries.map { $0.path.utf8.count { $0 == UInt8(ascii: "/") } }
        let least = depths.min() ?? 0
        self.depths = depths.map { $0 - least }
        let names = folder.utf8.split(separator: UInt8(ascii: "/")).map { String(Substring($0)) }.filter { $0 != "." }
        top = names.isEmpty ? "." : names.joined(separator: "/").escapedForDisplay
    }

    func print(to printer: inout LinePrinter) {
        printer.print(top)
        let isLast = lastOnes()
        /// For each folder above the current entry, whether more entries follow in it.
        var open: [Bool] = []
        for (index, entry) in entries.enumerated() {
            open.removeLast(max(0, open.count - depths[index]))
            let lead = open.map { $0 ? "│   " : "    " }.joined()
            printer.print(lead + (isLast[index] ? "└── " : "├── ") + Self.name(of: entry))
            open.append(!isLast[index])
        }
    }

    /// For each entry, whether it is the last in its folder. The entries are examined from the end, so the first entry
    /// found of a folder is its last one.
    private func lastOnes() -> [Bool] {
        var isLast = [Bool](repeating: false, count: entries.count)
        var seen: [Bool] = []
        for index in entries.indices.reversed() {
            let depth = depths[index]
            while seen.count <= depth { seen.append(false) }
            isLast[index] = !seen[depth]
            seen[depth] = true
            // Deeper entries that come earlier in the list belong to other folders.
            seen.removeLast(seen.count - depth - 1)
        }
        return isLast
    }

    private static func name(of entry: RemoteEntry) -> String {
        let name = entry.path.utf8.split(separator: UInt8(ascii: "/")).last.map { String(Substring($0)) } ?? ""
        return name.escapedForDisplay + (entry.isDirectory ? "/" : "")
    }
}

/// The order of paths in lists: by the bytes of their names, and the content of a folder directly after the folder.
enum EntryOrder {
    static func precedes(_ a: String, _ b: String) -> Bool {
        a.utf8.lazy.map(weight).lexicographicallyPrecedes(b.utf8.lazy.map(weight))
    }

    /// A slash sorts before all other bytes; no name contains a zero byte.
    private static func weight(_ byte: UInt8) -> UInt8 { byte == UInt8(ascii: "/") ? 0 : byte }
}
