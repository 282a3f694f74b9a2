/// What a text in a strict subset of TOML 1.0 says: tables, keys, strings of one line, whole decimal numbers, booleans and
/// arrays of strings. Whatever else TOML has is a fault, and so is what it forbids, so every text that is read here means
/// the same to other programs. docs/reference/configuration.md describes the subset.
package struct TOMLDocument: Equatable, Sendable {
    /// What stands below a header.
    package struct Table: Equatable, Sendable {
        /// Empty for what stands above the first header.
        package let path: [String]
        /// Of the header.
        package let line: Int
        package var entries: [Entry] = []
    }

    /// A key with its value.
    package struct Entry: Equatable, Sendable {
        package let key: String
        package let value: TOMLValue
        package let line: Int
        /// Where the value ends: an array can have several lines.
        package let lastLine: Int
    }

    /// In the order of the text; the first one has no header.
    package var tables: [Table]

    /// Reads a text.
    package init(_ bytes: [UInt8]) throws(TOMLFault) {
        tables = try TOMLParser.parse(bytes)
    }

    package subscript(path: [String]) -> Table? { tables.first { $0.path == path } }
}

/// Why a text is not a document that this program reads, and where.
package struct TOMLFault: Error, Equatable, Sendable {
    /// A phrase.
    package let message: String

    /// From 1.
    package let line: Int

    /// In Unicode scalars, from 1.
    package let column: Int
}

/// A value of the kinds that configuration files have.
package enum TOMLValue: Equatable, Sendable {
    case string(String)
    case integer(Int64)
    case boolean(Bool)
    case strings([String])
}
