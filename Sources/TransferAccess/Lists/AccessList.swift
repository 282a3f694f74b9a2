/// An access list with one entry a line, comments (`#`) and empty lines. Reading cannot fail: an unreadable line admits
/// no client and does not affect the others.
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
        /// Nil for a comment and for an unreadable line.
        let entry: Entry?
    }

    /// Most bytes of a file: thousands of entries. A longer one is not read at all.
    package static var longest: Int { 1 << 20 }

    private var lines: [Line] = []

    /// Line of each entry; the first one with an ID counts.
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

    /// The whole file. Unchanged lines are as they were.
    package var content: [UInt8] { lines.flatMap { $0.bytes + [UInt8(ascii: "\n")] } }

    /// Adds an entry at the end.
    ///
    /// - Throws: a sentence if the ID is in the list, the line would not be read back equally, or the file would be too
    ///   long.
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

    /// Checks that the line reads back as it is: an unreadable one admits no client, and another one might admit
    /// another client.
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

    /// Removes all matching lines, also ineffective ones with the ID of an earlier line, which would otherwise become
    /// effective.
    ///
    /// - Returns: their entries.
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
