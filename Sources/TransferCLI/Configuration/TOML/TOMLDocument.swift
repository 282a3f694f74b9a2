/// A document in a strict subset of TOML 1.0: tables, keys, single-line strings, decimal integers, booleans and arrays
/// of strings. All other syntax is a fault, so a document that is accepted here means the same to other TOML parsers.
/// docs/reference/configuration.md describes the subset.
package struct TOMLDocument: Equatable, Sendable {
    /// A table: the entries below a header.
    package struct Table: Equatable, Sendable {
        /// The keys of the header; empty for entries before the first header.
        package let path: [String]
        /// The line of the header, from 1.
        package let line: Int
        package var entries: [Entry] = []
    }

    /// A key with its value.
    package struct Entry: Equatable, Sendable {
        package let key: String
        package let value: TOMLValue
        package let line: Int
        /// The line where the value ends; an array can have several lines.
        package let lastLine: Int
    }

    /// The tables in order; the first one has no header.
    package var tables: [Table]

    /// Parses the bytes of a document.
    package init(_ bytes: [UInt8]) throws(TOMLFault) {
        tables = try TOMLParser.parse(bytes)
    }

    package subscript(path: [String]) -> Table? { tables.first { $0.path == path } }
}

/// A fault in a document, with its position.
package struct TOMLFault: Error, Equatable, Sendable {
    /// The message, as a phrase.
    package let message: String

    /// The number of the line, from 1.
    package let line: Int

    /// The column in Unicode scalars, from 1.
    package let column: Int
}

/// A value of a supported kind.
package enum TOMLValue: Equatable, Sendable {
    case string(String)
    case integer(Int64)
    case boolean(Bool)
    case strings([String])
}
