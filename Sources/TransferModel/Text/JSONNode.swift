/// A JSON value that was read (RFC 8259).
package indirect enum JSONNode: Equatable, Sendable {
    case null
    case bool(Bool)
    /// The number as it is written in the text.
    case number(String)
    case string(String)
    case array([JSONNode])
    /// Members in order, with different keys.
    case object([(key: String, value: JSONNode)])

    package static func == (a: JSONNode, b: JSONNode) -> Bool {
        switch (a, b) {
        case (.null, .null): true
        case (.bool(let a), .bool(let b)): a == b
        case (.number(let a), .number(let b)), (.string(let a), .string(let b)): a == b
        case (.array(let a), .array(let b)): a == b
        case (.object(let a), .object(let b)): a.elementsEqual(b) { $0.key == $1.key && $0.value == $1.value }
        default: false
        }
    }

    /// The value of a member; nil if it is missing, or if this is not an object.
    package subscript(key: String) -> JSONNode? {
        guard case .object(let members) = self else { return nil }
        return members.first { $0.key.hasSameBytes(as: key) }?.value
    }
}

/// The reason why a text is not JSON, as a phrase.
package struct JSONFault: Error, Equatable, Sendable {
    package let message: String

    package init(_ message: String) {
        self.message = message
    }
}
