internal import TransferClient
private import TransferModel

/// Draws entries as a tree.
struct EntryTree {
    /// In the order of `EntryOrder`.
    private let entries: [RemoteEntry]
    private let depths: [Int]
    private let top: String

    /// - Parameters:
    ///   - entries: sorted.
    ///   - folder: that they are in.
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
        /// Whether the folders above have more behind what is drawn.
        var open: [Bool] = []
        for (index, entry) in entries.enumerated() {
            open.removeLast(max(0, open.count - depths[index]))
            let lead = open.map { $0 ? "│   " : "    " }.joined()
            printer.print(lead + (isLast[index] ? "└── " : "├── ") + Self.name(of: entry))
            open.append(!isLast[index])
        }
    }

    /// Which of the entries have none behind them in their folder. From the end: the first that is seen of a folder is its
    /// last.
    private func lastOnes() -> [Bool] {
        var isLast = [Bool](repeating: false, count: entries.count)
        var seen: [Bool] = []
        for index in entries.indices.reversed() {
            let depth = depths[index]
            while seen.count <= depth { seen.append(false) }
            isLast[index] = !seen[depth]
            seen[depth] = true
            // What is above in the list and deeper is in another folder.
            seen.removeLast(seen.count - depth - 1)
        }
        return isLast
    }

    private static func name(of entry: RemoteEntry) -> String {
        let name = entry.path.utf8.split(separator: UInt8(ascii: "/")).last.map { String(Substring($0)) } ?? ""
        return name.escapedForDisplay + (entry.isDirectory ? "/" : "")
    }
}

/// The order of paths in lists: by the bytes of their names, and what is in a folder right behind it.
enum EntryOrder {
    static func precedes(_ a: String, _ b: String) -> Bool {
        a.utf8.lazy.map(weight).lexicographicallyPrecedes(b.utf8.lazy.map(weight))
    }

    /// No name has a zero in it, so a slash comes before all that does not end there.
    private static func weight(_ byte: UInt8) -> UInt8 { byte == UInt8(ascii: "/") ? 0 : byte }
}
