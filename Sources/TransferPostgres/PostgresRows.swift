internal import CPostgres

/// The answer to one statement: rows, or the number of changed rows. Used by the connection's thread.
///
/// Every access checks row, column, type and length, and throws: neither the server nor the tables are trusted.
package final class PostgresRows {
    private let library: PostgresLibrary
    private let handle: OpaquePointer

    /// The number of rows that the statement returned.
    package let count: Int
    private let columns: Int

    /// Takes ownership of a result.
    init(_ handle: OpaquePointer, of library: PostgresLibrary) {
        (self.handle, self.library) = (handle, library)
        count = max(0, Int(library.calls.PQntuples(handle)))
        columns = max(0, Int(library.calls.PQnfields(handle)))
    }

    deinit {
        library.calls.PQclear(handle)
    }

    /// The number of rows that the statement has inserted, changed, deleted or returned; 0 for other statements.
    package var affected: Int { Int(library.text(library.calls.PQcmdTuples(handle))) ?? 0 }

    /// The kind of the statement as the server has performed it, such as COMMIT, or ROLLBACK in answer to the COMMIT of
    /// a failed transaction.
    var tag: String { library.text(library.calls.PQcmdStatus(handle)) }

    /// Whether a value is NULL.
    package func isNull(_ row: Int, _ column: Int) throws(PostgresError) -> Bool {
        let (row, column) = try place(row, column)
        return library.calls.PQgetisnull(handle, row, column) != 0
    }

    private func place(_ row: Int, _ column: Int) throws(PostgresError) -> (row: Int32, column: Int32) {
        guard row >= 0, row < count, column >= 0, column < columns, let row = Int32(exactly: row),
            let column = Int32(exactly: column)
        else {
            throw .unexpected("there is no row \(row), column \(column) among \(count) rows and \(columns) columns")
        }
        return (row, column)
    }

    /// Calls `body` with the bytes of a value, which stay as long as the call.
    ///
    /// - Returns: nil for NULL.
    private func read<Value>(
        _ row: Int, _ column: Int, _ types: [PostgresType],
        _ body: (UnsafeRawBufferPointer) throws(PostgresError) -> Value
    ) throws(PostgresError) -> Value? {
        let place = try place(row, column)
        let (type, format) = (
            library.calls.PQftype(handle, place.column), library.calls.PQfformat(handle, place.column)
        )
        guard format == 1, types.contains(where: { $0.rawValue == type }) else {
            throw .unexpected("column \(column) has the type \(type) in format \(format)")
        }
        if library.calls.PQgetisnull(handle, place.row, place.column) != 0 { return nil }
        let length = Int(library.calls.PQgetlength(handle, place.row, place.column))
        guard length >= 0, let value = library.calls.PQgetvalue(handle, place.row, place.column) else {
            throw .unexpected("column \(column) has \(length) bytes")
        }
        return try body(UnsafeRawBufferPointer(start: value, count: length))
    }

    private func required<Value>(_ value: Value?, _ column: Int) throws(PostgresError) -> Value {
        guard let value else { throw .unexpected("column \(column) is NULL") }
        return value
    }
}

// MARK: Values

extension PostgresRows {
    /// A value of the type int8 or int4.
    package func integer(_ row: Int, _ column: Int) throws(PostgresError) -> Int64 {
        try required(try optionalInteger(row, column), column)
    }

    package func optionalInteger(_ row: Int, _ column: Int) throws(PostgresError) -> Int64? {
        try read(row, column, [.integer, .shortInteger]) { (bytes) throws(PostgresError) in
            if bytes.count == 4 { return Int64(try PostgresBytes.integer(bytes, as: Int32.self)) }
            return try PostgresBytes.integer(bytes, as: Int64.self)
        }
    }

    package func boolean(_ row: Int, _ column: Int) throws(PostgresError) -> Bool {
        try required(try optionalBoolean(row, column), column)
    }

    package func optionalBoolean(_ row: Int, _ column: Int) throws(PostgresError) -> Bool? {
        try read(row, column, [.boolean], PostgresBytes.boolean)
    }

    /// A value of the type text.
    package func text(_ row: Int, _ column: Int) throws(PostgresError) -> String {
        try required(try optionalText(row, column), column)
    }

    package func optionalText(_ row: Int, _ column: Int) throws(PostgresError) -> String? {
        try read(row, column, [.text], PostgresBytes.text)
    }

    /// A value of the type bytea.
    package func bytes(_ row: Int, _ column: Int) throws(PostgresError) -> [UInt8] {
        try required(try optionalBytes(row, column), column)
    }

    package func optionalBytes(_ row: Int, _ column: Int) throws(PostgresError) -> [UInt8]? {
        try read(row, column, [.bytes]) { Array($0) }
    }

    /// Calls `body` with the bytes of a bytea that is not NULL, without copying them.
    package func withBytes<Value>(
        _ row: Int, _ column: Int, _ body: (UnsafeRawBufferPointer) throws(PostgresError) -> Value
    ) throws(PostgresError) -> Value {
        try required(try read(row, column, [.bytes], body), column)
    }

    /// An array of the type int8[]; nil elements are NULL.
    package func integers(_ row: Int, _ column: Int) throws(PostgresError) -> [Int64?] {
        try array(row, column, .integers, of: .integer) { (bytes) throws(PostgresError) in
            try PostgresBytes.integer(bytes, as: Int64.self)
        }
    }

    /// An array of the type int4[]; nil elements are NULL.
    package func shortIntegers(_ row: Int, _ column: Int) throws(PostgresError) -> [Int32?] {
        try array(row, column, .shortIntegers, of: .shortInteger) { (bytes) throws(PostgresError) in
            try PostgresBytes.integer(bytes, as: Int32.self)
        }
    }

    /// An array of the type bool[]; nil elements are NULL.
    package func booleans(_ row: Int, _ column: Int) throws(PostgresError) -> [Bool?] {
        try array(row, column, .booleans, of: .boolean, PostgresBytes.boolean)
    }

    /// An array of the type text[]; nil elements are NULL.
    package func texts(_ row: Int, _ column: Int) throws(PostgresError) -> [String?] {
        try array(row, column, .texts, of: .text, PostgresBytes.text)
    }

    /// An array of the type bytea[]; nil elements are NULL.
    package func byteStrings(_ row: Int, _ column: Int) throws(PostgresError) -> [[UInt8]?] {
        try array(row, column, .byteStrings, of: .bytes) { Array($0) }
    }

    private func array<Element>(
        _ row: Int, _ column: Int, _ type: PostgresType, of element: PostgresType,
        _ decode: (UnsafeRawBufferPointer) throws(PostgresError) -> Element
    ) throws(PostgresError) -> [Element?] {
        let array = try read(row, column, [type]) { (bytes) throws(PostgresError) in
            try PostgresBytes.array(bytes, of: element, decode)
        }
        return try required(array, column)
    }
}

/// Decodes values in PostgreSQL's binary format, with checks of every length.
enum PostgresBytes {
    /// Bytes before the elements of an array with one dimension, and of an empty one (array_send in arrayfuncs.c).
    private static let headerSize = 20
    private static let emptySize = 12

    static func integer<Number: FixedWidthInteger>(
        _ bytes: UnsafeRawBufferPointer, as type: Number.Type
    ) throws(PostgresError) -> Number {
        guard bytes.count == MemoryLayout<Number>.size else {
            throw .unexpected("a number of \(MemoryLayout<Number>.size) bytes has \(bytes.count)")
        }
        return Number(bigEndian: bytes.loadUnaligned(as: type))
    }

    static func boolean(_ bytes: UnsafeRawBufferPointer) throws(PostgresError) -> Bool {
        guard bytes.count == 1, let byte = bytes.first, byte <= 1 else {
            throw .unexpected("a boolean is neither 0 nor 1")
        }
        return byte == 1
    }

    static func text(_ bytes: UnsafeRawBufferPointer) throws(PostgresError) -> String {
        guard let text = String(validating: bytes, as: UTF8.self) else { throw .unexpected("a text is not UTF-8") }
        return text
    }

    /// Decodes an array with at most one dimension.
    static func array<Element>(
        _ bytes: UnsafeRawBufferPointer, of type: PostgresType,
        _ decode: (UnsafeRawBufferPointer) throws(PostgresError) -> Element
    ) throws(PostgresError) -> [Element?] {
        let (dimensions, hasNull, element) = (number(bytes, 0), number(bytes, 4), number(bytes, 8))
        guard let dimensions, let hasNull, (0...1).contains(hasNull), element == Int32(exactly: type.rawValue) else {
            throw .unexpected("an array has no header, or other elements than expected")
        }
        if dimensions == 0, bytes.count == emptySize { return [] }
        guard dimensions == 1, let size = number(bytes, emptySize), size >= 0, bytes.count >= headerSize else {
            throw .unexpected("an array has \(dimensions) dimensions")
        }
        // Each element has a length of four bytes, so a false size cannot allocate more than the answer's.
        guard Int(size) <= (bytes.count - headerSize) / 4 else {
            throw .unexpected("an array of \(size) elements has \(bytes.count) bytes")
        }
        var elements: [Element?] = []
        elements.reserveCapacity(Int(size))
        var offset = headerSize
        for _ in 0..<size {
            guard let length = number(bytes, offset), length >= -1 else {
                throw .unexpected("an element of an array has no length")
            }
            offset += 4
            guard length >= 0 else {
                elements.append(nil)
                continue
            }
            guard Int(length) <= bytes.count - offset else { throw .unexpected("an array ends in an element") }
            elements.append(try decode(UnsafeRawBufferPointer(rebasing: bytes[offset..<offset + Int(length)])))
            offset += Int(length)
        }
        guard offset == bytes.count else { throw .unexpected("an array has bytes behind the last element") }
        return elements
    }

    /// The number in the four bytes at an offset that is not negative; nil if there are fewer bytes.
    private static func number(_ bytes: UnsafeRawBufferPointer, _ offset: Int) -> Int32? {
        guard bytes.count >= 4, offset <= bytes.count - 4 else { return nil }
        return Int32(bigEndian: bytes.loadUnaligned(fromByteOffset: offset, as: Int32.self))
    }
}
