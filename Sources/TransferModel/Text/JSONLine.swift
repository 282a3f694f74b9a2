/// A JSON object on one line, with its members in the order in which they were added.
package struct JSONLine: Equatable, Sendable {
    private var members: [(key: String, shown: JSONValue, value: JSONValue)]

    package init() { members = [] }

    private init(room: Int) {
        members = []
        members.reserveCapacity(room)
    }

    /// Adds a member. Its key must be new, because readers differ in which of two members they use.
    package mutating func append(_ key: String, _ value: JSONValue) {
        // Trap: keys are literals of this program.
        precondition(!members.contains { $0.key == key }, "the key '\(key)' is there already")
        members.append((key, .string(key), value))
    }

    /// The object without a line end.
    package var text: String { ByteWriter.string(capacity: length) { write(to: &$0) } }

    /// The object with a line end, as bytes.
    package var terminated: [UInt8] {
        ByteWriter.bytes(capacity: length + 1) { writer in
            write(to: &writer)
            writer.append("\n")
        }
    }

    /// Most bytes of the object: two for the braces, and for each member its key, its value, a colon and a comma.
    private var length: Int { members.reduce(2) { $0 + $1.shown.length + $1.value.length + 2 } }

    private func write(to writer: inout ByteWriter) {
        writer.append("{")
        for (index, member) in members.enumerated() {
            if index > 0 { writer.append(",") }
            member.shown.write(to: &writer)
            writer.append(":")
            member.value.write(to: &writer)
        }
        writer.append("}")
    }

    package static func == (a: Self, b: Self) -> Bool { a.text == b.text }
}

extension JSONLine: ExpressibleByDictionaryLiteral {
    package init(dictionaryLiteral elements: (String, JSONValue)...) {
        self.init(room: elements.count)
        for (key, value) in elements { append(key, value) }
    }
}
