/// An access list. A line is an entry, a comment (`#`) or empty. Reading cannot fail: an unreadable line admits no
/// client and does not affect the other lines.
package struct AccessList<Entry: AccessEntry>: Sendable {
    /// The fault of a line.
    package struct Fault: Equatable, Sendable {
        /// Number of the line, from 1.
        package let line: Int
        /// A phrase about the fault.
        package let message: String
    }

    private struct Line: Sendable {
        let bytes: [UInt8]
        /// The entry of the line; nil for a comment, an empty line and an unreadable line.
        let entry: Entry?
    }

    /// Most bytes of a file, enough for thousands of entries. A longer file is not read at all.
    package static var longest: Int { 1 << 20 }

    private var lines: [Line] = []

    /// Index of each entry's line. If several lines have the same ID, the first one is used.
    private var index: [Entry.ID: Int] = [:]

    package private(set) var faults: [Fault] = []

    /// Makes a list without entries.
    package init() {}

    /// Reads a file of at most `longest` bytes.
    package init(_ content: [UInt8]) {
        var pieces = content.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
        if pieces.last?.isEmpty ?? false { pieces.removeLast() }
        for piece in pieces { take(piece) }
    }

    /// Entries that admit clients, in the order of their lines.
    package var entries: [Entry] { index.values.sorted().compactMap { lines[$0].entry } }

    package subscript(id: Entry.ID) -> Entry? { index[id].flatMap { lines[$0].entry } }

    /// The content of the file. Lines that were not changed are the same bytes as before.
    package var content: [UInt8] { lines.flatMap { $0.bytes + [UInt8(ascii: "\n")] } }

    /// Adds an entry at the end.
    ///
    /// - Throws: a sentence if the list has an entry with this ID, the line would not be read back as this entry, or
    ///   the file would be too long.
    package mutating func append(_ entry: Entry) throws(AccessFault) {
        if let present = self[entry.id] { throw AccessFault("The list contains it already, as '\(present.name)'.") }
        let bytes = Array(entry.line.utf8)
        try Self.check(bytes)
        guard lines.reduce(bytes.count + 1, { $0 + $1.bytes.count + 1 }) <= Self.longest else {
            throw AccessFault("The list is full; remove entries first.")
        }
        index[entry.id] = lines.count
        lines.append(Line(bytes: bytes, entry: entry))
    }

    /// Checks that reading the line gives the same entry: an unreadable line admits no client, and a different entry
    /// might admit another client.
    private static func check(_ bytes: [UInt8]) throws(AccessFault) {
        let read: Entry
        do throws(AccessFault) {
            read = try Entry(AccessLine(bytes, kinds: Entry.kinds))
        } catch {
            throw AccessFault("It cannot be added to the list: \(error.message).")
        }
        guard read.line.utf8.elementsEqual(bytes) else {
            throw AccessFault("It cannot be added to the list: its line would be read back as a different entry.")
        }
    }

    /// Removes all matching lines. This includes lines that are not used because an earlier line has their ID: they
    /// would be used once that line is removed.
    ///
    /// - Returns: the removed entries.
    package mutating func remove(where condition: (Entry) -> Bool) -> [Entry] {
        let removed = lines.compactMap(\.entry).filter(condition)
        if !removed.isEmpty {
            self = Self(
                lines.filter { !($0.entry.map(condition) ?? false) }.flatMap { $0.bytes + [UInt8(ascii: "\n")] })
        }
        return removed
    }

    private mutating func take(_ piece: ArraySlice<UInt8>) {
        // Files from other systems may have CR LF line ends.
        let text = piece.last == UInt8(ascii: "\r") ? piece.dropLast() : piece
        let first = text.first { $0 != UInt8(ascii: " ") && $0 != UInt8(ascii: "\t") }
        var entry: Entry?
        if let first, first != UInt8(ascii: "#") {
            do throws(AccessFault) {
                entry = try Entry(AccessLine(text, kinds: Entry.kinds))
            } catch {
                faults.append(Fault(line: lines.count + 1, message: error.message))
            }
        }
        if let entry { note(entry.id) }
        lines.append(Line(bytes: Array(piece), entry: entry))
    }

    private mutating func note(_ id: Entry.ID) {
        if let first = index[id] {
            let message = "line \(first + 1) has the same key or token, and that line is used"
            faults.append(Fault(line: lines.count + 1, message: message))
        } else {
            index[id] = lines.count
        }
    }
}
