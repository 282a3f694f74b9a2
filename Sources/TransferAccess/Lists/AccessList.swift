/// A list of who may come in, one entry a line, with comments (`#`) and empty lines. Reading it cannot fail: a line
/// that cannot be read lets nobody in and leaves the others as they are.
package struct AccessList<Entry: AccessEntry>: Sendable {
    /// What is wrong with a line.
    package struct Fault: Equatable, Sendable {
        /// From 1.
        package let line: Int
        /// A phrase.
        package let message: String
    }

    private struct Line: Sendable {
        let bytes: [UInt8]
        /// Nothing for a comment and for what cannot be read.
        let entry: Entry?
    }

    /// Bytes of a file: thousands of entries. What is longer is not read at all.
    package static var longest: Int { 1 << 20 }

    private var lines: [Line] = []

    /// Where an entry is; of several with one id the first counts.
    private var index: [Entry.ID: Int] = [:]

    package private(set) var faults: [Fault] = []

    /// An empty one.
    package init() {}

    /// Reads a file of at most `longest` bytes.
    package init(_ content: [UInt8]) {
        var pieces = content.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
        if pieces.last?.isEmpty ?? false { pieces.removeLast() }
        for piece in pieces { take(piece) }
    }

    /// Those that let somebody in, in the order of their lines.
    package var entries: [Entry] { index.values.sorted().compactMap { lines[$0].entry } }

    package subscript(id: Entry.ID) -> Entry? { index[id].flatMap { lines[$0].entry } }

    /// The whole file again. Lines that nobody changed are as they were.
    package var content: [UInt8] { lines.flatMap { $0.bytes + [UInt8(ascii: "\n")] } }

    /// Adds a line at the end.
    ///
    /// - Throws: a sentence when its id is there already, when its line would not be read as it is, or when the file would be
    ///   too long.
    package mutating func append(_ entry: Entry) throws(AccessFault) {
        if let present = self[entry.id] { throw AccessFault("It is there already, as '\(present.name)'.") }
        let bytes = Array(entry.line.utf8)
        try Self.check(bytes)
        guard lines.reduce(bytes.count + 1, { $0 + $1.bytes.count + 1 }) <= Self.longest else {
            throw AccessFault("The list is full; remove entries first.")
        }
        index[entry.id] = lines.count
        lines.append(Line(bytes: bytes, entry: entry))
    }

    /// An unreadable line admits no client, and a line that is read as something else admits another client.
    private static func check(_ bytes: [UInt8]) throws(AccessFault) {
        let read: Entry
        do throws(AccessFault) {
            read = try Entry(AccessLine(bytes, kinds: Entry.kinds))
        } catch {
            throw AccessFault("A list cannot hold it: \(error.message).")
        }
        guard read.line.utf8.elementsEqual(bytes) else {
            throw AccessFault("A list cannot hold it: it would be read as something else.")
        }
    }

    /// Takes out all lines that say so, also those that do not count because an earlier one has the same id: otherwise
    /// these would count now.
    ///
    /// - Returns: what they said.
    package mutating func remove(where condition: (Entry) -> Bool) -> [Entry] {
        let removed = lines.compactMap(\.entry).filter(condition)
        if !removed.isEmpty {
            self = Self(
                lines.filter { !($0.entry.map(condition) ?? false) }.flatMap { $0.bytes + [UInt8(ascii: "\n")] })
        }
        return removed
    }

    private mutating func take(_ piece: ArraySlice<UInt8>) {
        // A file from another system may have two characters at the end of a line.
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
            let message = "line \(first + 1) is about the same one, and is what counts"
            faults.append(Fault(line: lines.count + 1, message: message))
        } else {
            index[id] = lines.count
        }
    }
}
