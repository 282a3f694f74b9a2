import TransferAccess
import TransferModel

/// Rules for every list of clients, whatever its file contains.
struct AccessListCheck<Entry: AccessEntry> {
    private let content: [UInt8]
    private let list: AccessList<Entry>

    init(_ content: [UInt8]) {
        self.content = content
        list = AccessList(content)
    }

    func run() throws(Finding) {
        let isEnded = content.isEmpty || content.last == UInt8(ascii: "\n")
        try require(list.content == content + (isEnded ? [] : [UInt8(ascii: "\n")]), "The file has changed.")
        try compareLines()
        for entry in list.entries { try check(entry) }
        for fault in list.faults { try require(shown: fault.message) }
        if let first = list.entries.first { try edit(first) }
    }

    /// The meaning of a line does not depend on other lines, except that only the first line about a client counts.
    private func compareLines() throws(Finding) {
        var (entries, ids, faults): ([Entry], Set<Entry.ID>, [Int]) = ([], [], [])
        let lines = content.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
        for (index, line) in lines.enumerated() {
            let alone = AccessList<Entry>(Array(line))
            if let entry = alone.entries.first, ids.insert(entry.id).inserted {
                entries.append(entry)
            } else if !alone.entries.isEmpty || !alone.faults.isEmpty {
                faults.append(index + 1)
            } else {
                try require(Self.saysNothing(line), "Line \(index + 1) is passed over.")
            }
        }
        try require(list.entries == entries, "The lines say \(entries), the list says \(list.entries).")
        try require(
            list.faults.map(\.line) == faults, "The faults are in \(list.faults.map(\.line)), not in \(faults).")
    }

    /// Whether the line is a comment or empty.
    private static func saysNothing(_ line: ArraySlice<UInt8>) -> Bool {
        let text = line.last == UInt8(ascii: "\r") ? line.dropLast() : line
        let first = text.first { $0 != UInt8(ascii: " ") && $0 != UInt8(ascii: "\t") }
        return first == nil || first == UInt8(ascii: "#")
    }

    private func check(_ entry: Entry) throws(Finding) {
        try require(list[entry.id] == entry, "\(entry) is not found.")
        try require(AccessList<Entry>(Array(entry.line.utf8)).entries == [entry], "'\(entry.line)' is read otherwise.")
        try require(shown: entry.line)
        try require(entry.name.escapedForDisplay == entry.name, "The name '\(entry.name)' steers a terminal.")
        guard let folder = entry.options.folder, let path = try? RelativePath("a/b") else { return }
        let grant = Grant(.everyone, name: entry.name, options: entry.options)
        guard let stored = try? grant.stored(path) else { return }
        try require(
            stored.string == "\(folder.string)/a/b" && grant.shown(stored) == path, "\(stored) is not in \(folder).")
    }

    /// Removes a client, which no other line may then admit, and adds the client again.
    private func edit(_ entry: Entry) throws(Finding) {
        var edited = list
        let removed = edited.remove { $0.id == entry.id }
        let others = Array(list.entries.dropFirst())
        try require(removed.first == entry && edited.entries == others, "Removing changes others.")
        try require(AccessList<Entry>(edited.content).entries == others, "What was removed comes back.")
        guard (try? edited.append(entry)) != nil else { throw Finding("\(entry) cannot be added again.") }
        try require(edited.entries == others + [entry], "Adding changes others.")
        try require(AccessList<Entry>(edited.content).entries == edited.entries, "What was added is not read again.")
        try require((try? edited.append(entry)) == nil, "\(entry) is there twice.")
    }
}
