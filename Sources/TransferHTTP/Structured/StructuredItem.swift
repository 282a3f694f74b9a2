internal import TransferModel

/// A value without parameters (RFC 9651, section 3.3).
package enum BareItem: Equatable, Sendable {
    /// An integer of at most 15 digits (section 3.3.1).
    case integer(Int64)
    /// A decimal in thousandths, with at most 12 digits before the point and 3 after it (section 3.3.2).
    case decimal(thousandths: Int64)
    /// ASCII without control characters (section 3.3.3).
    case string(String)
    /// A token as in section 3.3.4.
    case token(String)
    case bytes([UInt8])
    case boolean(Bool)
    /// Seconds since 1970-01-01 00:00 UTC, as an integer (section 3.3.7).
    case date(Int64)
    /// Any Unicode text (section 3.3.8).
    case displayString(String)

    /// Compares texts by their bytes.
    package static func == (a: Self, b: Self) -> Bool {
        switch (a, b) {
        case (.integer(let a), .integer(let b)), (.decimal(let a), .decimal(let b)), (.date(let a), .date(let b)):
            a == b
        case (.string(let a), .string(let b)), (.token(let a), .token(let b)),
            (.displayString(let a), .displayString(let b)):
            a.hasSameBytes(as: b)
        case (.bytes(let a), .bytes(let b)): a == b
        case (.boolean(let a), .boolean(let b)): a == b
        default: false
        }
    }
}

/// Keys with values in order; a repeated key keeps its first place and gets its last value (RFC 9651, sections 3.1.2
/// and 3.2).
package struct StructuredMap<Value: Equatable & Sendable>: Equatable, Sendable {
    package struct Entry: Equatable, Sendable {
        /// Lower case letters, digits and `_-.*`.
        package let key: String
        package fileprivate(set) var value: Value
    }

    package private(set) var entries: [Entry] = []

    /// Index of each key in `entries`, so that a thousand keys do not cost a million comparisons.
    private var places: [String: Int] = [:]

    package init() {}

    package subscript(key: String) -> Value? { places[key].map { entries[$0].value } }

    package mutating func set(_ key: String, _ value: Value) {
        if let place = places[key] {
            entries[place].value = value
        } else {
            places[key] = entries.count
            entries.append(Entry(key: key, value: value))
        }
    }
}

extension StructuredMap: ExpressibleByDictionaryLiteral {
    package init(dictionaryLiteral elements: (String, Value)...) {
        self.init()
        for (key, value) in elements { set(key, value) }
    }
}

package typealias StructuredParameters = StructuredMap<BareItem>

/// A value with its parameters (section 3.3).
package struct StructuredItem: Equatable, Sendable {
    package let value: BareItem
    package let parameters: StructuredParameters

    package init(_ value: BareItem, _ parameters: StructuredParameters = [:]) {
        (self.value, self.parameters) = (value, parameters)
    }
}

/// A member of a list or dictionary (sections 3.1 and 3.2).
package enum StructuredMember: Equatable, Sendable {
    case item(StructuredItem)
    /// Items in parentheses, without further lists (section 3.1.1).
    case innerList([StructuredItem], StructuredParameters)

    /// The value of an item; nil for an inner list.
    package var value: BareItem? {
        guard case .item(let item) = self else { return nil }
        return item.value
    }
}

package typealias StructuredDictionary = StructuredMap<StructuredMember>
