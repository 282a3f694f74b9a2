/// A JSON object on one line, its members in the order in which they were added.
package struct JSONLine: Equatable, Sendable {
    private var members: [(key: String, value: JSONValue)]

    package init() { members = [] }

    /// Adds a member. The key must not be there already: readers differ in which of two they take.
    package mutating func append(_ key: String, _ value: JSONValue) {
        // Trap: keys are literals of this program.
        precondition(!members.contains { $0.key == key }, "the key '\(key)' is there already")
        members.append((key, value))
    }

    /// The object, without an end of line.
    package var text: String {
        "{" + members.map { "\(JSONValue.string($0.key).text):\($0.value.text)" }.joined(separator: ",") + "}"
    }

    package static func == (a: Self, b: Self) -> Bool { a.text == b.text }
}

extension JSONLine: ExpressibleByDictionaryLiteral {
    package init(dictionaryLiteral elements: (String, JSONValue)...) {
        self.init()
        for (key, value) in elements { append(key, value) }
    }
}
