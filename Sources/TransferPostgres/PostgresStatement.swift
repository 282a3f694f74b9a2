/// A statement with its parameters. The text is prepared at its first use in a connection, so it has to be one of a
/// fixed number of texts: what varies is a parameter.
package struct PostgresStatement: Equatable, Sendable {
    /// One SQL command, with `$1` for the first parameter.
    package let sql: String
    package let parameters: [PostgresValue]

    package init(_ sql: String, _ parameters: [PostgresValue] = []) {
        (self.sql, self.parameters) = (sql, parameters)
    }

    /// A name in double quotes, for statements about schemas and roles (manual, "Identifiers and Key Words").
    ///
    /// - Throws: `bug` for a name that PostgreSQL would cut or refuse.
    package static func quoted(_ name: String) throws(PostgresError) -> String {
        guard !name.isEmpty, name.utf8.count <= PostgresLimits.nameSize, !name.utf8.contains(0) else {
            throw PostgresError(.bug, "'\(name)' cannot be a name in the database: it may have 1 to 63 bytes, no NUL.")
        }
        let doubled = name.reduce(into: "") { text, character in
            text.append(contentsOf: character == "\"" ? "\"\"" : String(character))
        }
        return "\"\(doubled)\""
    }
}

/// Bounds of PostgreSQL that a value or a statement may not exceed.
package enum PostgresLimits {
    /// Parameters of a statement, a 16-bit number of the protocol (manual, "Bind").
    static let parameters = 65_535

    /// Bytes of all parameters of a statement: MaxAllocSize, the most memory of one value in the server (memutils.h).
    static let parameterBytes = 0x3fff_ffff

    /// Elements of an array: MaxArraySize, MaxAllocSize divided by the size of a pointer (array.h).
    static let elements = 134_217_727

    /// Bytes of a name, one less than NAMEDATALEN (pg_config_manual.h).
    static let nameSize = 63

    /// Bytes of a notification's payload: it has to be shorter than 8000 (manual, NOTIFY).
    package static let payloadSize = 7999

    /// Prepared statements of a connection, more than this program has texts. Further ones are not prepared.
    static let preparedStatements = 512

    /// Warnings kept of one exchange, so that a server cannot fill the memory with them.
    static let warnings = 16
}

/// A type of a parameter or column, by its number (pg_type.dat).
package enum PostgresType: UInt32, Sendable {
    case boolean = 16
    case bytes = 17
    case integer = 20
    case shortInteger = 23
    case text = 25
    case booleans = 1000
    case byteStrings = 1001
    case shortIntegers = 1007
    case texts = 1009
    case integers = 1016
}

/// A parameter. An array has one dimension, and an element that is nil is NULL.
package enum PostgresValue: Equatable, Sendable {
    case null(PostgresType)
    case boolean(Bool)
    /// A value of the type bytea.
    case bytes([UInt8])
    /// A value of the type int8.
    case integer(Int64)
    /// A value of the type int4.
    case shortInteger(Int32)
    /// A text without NUL, which PostgreSQL cannot keep.
    case text(String)
    case booleans([Bool?])
    /// A value of the type bytea[].
    case byteStrings([[UInt8]?])
    /// A value of the type int4[].
    case shortIntegers([Int32?])
    case texts([String?])
    /// A value of the type int8[].
    case integers([Int64?])

    package var type: PostgresType {
        switch self {
        case .null(let type): type
        case .boolean: .boolean
        case .bytes: .bytes
        case .integer: .integer
        case .shortInteger: .shortInteger
        case .text: .text
        case .booleans: .booleans
        case .byteStrings: .byteStrings
        case .shortIntegers: .shortIntegers
        case .texts: .texts
        case .integers: .integers
        }
    }
}

/// The parameters of a statement in PostgreSQL's binary format.
struct PostgresParameters {
    /// The values one after the other, and a byte more.
    private(set) var bytes: [UInt8] = []
    /// The place of each value in `bytes`; nil for NULL.
    private(set) var places: [Range<Int>?] = []
    private(set) var types: [UInt32] = []

    /// - Throws: `bug` for a text with NUL, and for more bytes or parameters than PostgreSQL takes.
    init(_ values: [PostgresValue]) throws(PostgresError) {
        guard values.count <= PostgresLimits.parameters else {
            throw PostgresError(.bug, "A statement has \(values.count) parameters, more than PostgreSQL takes.")
        }
        for value in values {
            let start = bytes.count
            let isNull = try append(value)
            places.append(isNull ? nil : start..<bytes.count)
            types.append(value.type.rawValue)
        }
        guard bytes.count <= PostgresLimits.parameterBytes else {
            throw PostgresError(.bug, "A statement's parameters have \(bytes.count) bytes, more than PostgreSQL takes.")
        }
        // An empty value needs an address, too: libpq takes NULL for the value NULL.
        bytes.append(0)
    }

    /// - Returns: whether the value is NULL.
    private mutating func append(_ value: PostgresValue) throws(PostgresError) -> Bool {
        switch value {
        case .null: return true
        case .boolean(let value): appendElement(value)
        case .bytes(let value): bytes += value
        case .integer(let value): appendElement(value)
        case .shortInteger(let value): appendElement(value)
        case .text(let value): try appendText(value)
        case .booleans(let values):
            try appendArray(values, of: .boolean) { (parameters, value) in parameters.appendElement(value) }
        case .shortIntegers(let values):
            try appendArray(values, of: .shortInteger) { (parameters, value) in parameters.appendElement(value) }
        case .integers(let values):
            try appendArray(values, of: .integer) { (parameters, value) in parameters.appendElement(value) }
        case .byteStrings(let values):
            try appendArray(values, of: .bytes) { (parameters, value) in parameters.bytes += value }
        case .texts(let values):
            try appendArray(values, of: .text) { (parameters, value) throws(PostgresError) in
                try parameters.appendText(value)
            }
        }
        return false
    }

    private mutating func appendElement<Number: FixedWidthInteger>(_ value: Number) {
        withUnsafeBytes(of: value.bigEndian) { bytes += $0 }
    }

    private mutating func appendElement(_ value: Bool) { bytes.append(value ? 1 : 0) }

    private mutating func appendText(_ value: String) throws(PostgresError) {
        guard !value.utf8.contains(0) else {
            throw PostgresError(.bug, "A text has a NUL, which PostgreSQL keeps only in bytea. Report this as a bug.")
        }
        bytes += value.utf8
    }

    /// Appends an array in the form of array_send (arrayfuncs.c): the number of dimensions, whether it has NULLs, the
    /// type, the size and first index of the dimension, and the length before each element, -1 for NULL.
    private mutating func appendArray<Element>(
        _ values: [Element?], of type: PostgresType,
        _ appendOne: (inout Self, Element) throws(PostgresError) -> Void
    ) throws(PostgresError) {
        guard values.count <= PostgresLimits.elements, let count = Int32(exactly: values.count) else {
            throw PostgresError(.bug, "An array has \(values.count) elements, more than PostgreSQL takes.")
        }
        appendElement(Int32(values.isEmpty ? 0 : 1))
        appendElement(Int32(values.contains { $0 == nil } ? 1 : 0))
        appendElement(type.rawValue)
        guard !values.isEmpty else { return }
        appendElement(count)
        appendElement(Int32(1))
        for value in values {
            guard let value else {
                appendElement(Int32(-1))
                continue
            }
            let place = bytes.count
            appendElement(Int32(0))
            try appendOne(&self, value)
            try writeLength(at: place)
        }
    }

    /// Writes the length of the element that follows into its place before it.
    private mutating func writeLength(at place: Int) throws(PostgresError) {
        guard let length = Int32(exactly: bytes.count - place - 4) else {
            throw PostgresError(.bug, "An element of an array has more bytes than PostgreSQL takes.")
        }
        withUnsafeBytes(of: length.bigEndian) { bytes.replaceSubrange(place..<place + 4, with: $0) }
    }

    /// Calls `body` with the arrays that libpq takes for the parameters, all in binary format.
    func withPointers<Result>(
        _ body: (
            _ values: [UnsafePointer<CChar>?], _ lengths: [Int32], _ formats: [Int32]
        ) -> Result
    ) -> Result {
        return bytes.withUnsafeBytes { buffer in
            let values = places.map { place in
                place.flatMap { buffer.baseAddress?.advanced(by: $0.lowerBound).assumingMemoryBound(to: CChar.self) }
            }
            let lengths = places.map { Int32(clamping: $0?.count ?? 0) }
            return body(values, lengths, [Int32](repeating: 1, count: places.count))
        }
    }
}
