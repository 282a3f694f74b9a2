import Testing
import TransferTestSupport

@testable import TransferPostgres

/// Parameters and columns in binary format, without a server and with one.
@Suite struct PostgresValuesTests {
    /// Values of every type, among them the first and last ones, with the type's name.
    static let values: [(value: PostgresValue, type: String)] = [
        (.integer(0), "int8"), (.integer(.min), "int8"), (.integer(.max), "int8"),
        (.shortInteger(.min), "int4"), (.shortInteger(.max), "int4"),
        (.boolean(true), "bool"), (.boolean(false), "bool"),
        (.text(""), "text"), (.text("a\u{1F600}'\"\\\u{7F}\n"), "text"),
        (.text(String(repeating: "ä", count: 70_000)), "text"),
        (.bytes([]), "bytea"), (.bytes([0]), "bytea"), (.bytes(Array(UInt8.min ... .max)), "bytea"),
        (.bytes(SplitMix64.bytes(seed: 1, 1 << 20)), "bytea"),
        (.integers([]), "int8[]"), (.integers([nil]), "int8[]"), (.integers([.min, nil, .max, 0]), "int8[]"),
        (.shortIntegers([]), "int4[]"), (.shortIntegers([nil, .min, .max]), "int4[]"),
        (.booleans([]), "bool[]"), (.booleans([true, nil, false]), "bool[]"),
        (.texts([]), "text[]"), (.texts(["", nil, "NULL", "{,}", "ä\""]), "text[]"),
        (.byteStrings([]), "bytea[]"),
        (.byteStrings([[], nil, [0], Array(repeating: 255, count: 100_000)]), "bytea[]"),
        (.byteStrings((0..<5000).map { $0 % 7 == 0 ? nil : SplitMix64.bytes(seed: UInt64($0), $0 % 31) }), "bytea[]"),
    ]

    private static func read(_ rows: PostgresRows, as type: PostgresType) throws -> PostgresValue {
        switch type {
        case .boolean: .boolean(try rows.boolean(0, 0))
        case .bytes: .bytes(try rows.bytes(0, 0))
        case .integer: .integer(try rows.integer(0, 0))
        case .shortInteger: .shortInteger(Int32(try rows.integer(0, 0)))
        case .text: .text(try rows.text(0, 0))
        case .booleans: .booleans(try rows.booleans(0, 0))
        case .byteStrings: .byteStrings(try rows.byteStrings(0, 0))
        case .shortIntegers: .shortIntegers(try rows.shortIntegers(0, 0))
        case .texts: .texts(try rows.texts(0, 0))
        case .integers: .integers(try rows.integers(0, 0))
        }
    }

    /// The second column is made by the server from text, so both directions are compared with the server's own form.
    @Test(.enabled(if: PostgresServer.isInstalled, Comment(rawValue: PostgresServer.advice)), arguments: values.indices)
    func valuesReturnAsTheyWere(_ index: Int) throws {
        let (value, type) = Self.values[index]
        let pool = try PostgresServer.shared.get().pool()
        defer { pool.close() }
        let sql = "SELECT $1::\(type), $1::\(type) = ($1::text)::\(type), $2::\(type) IS NULL, $2::\(type)"
        let found = try pool.transaction { (transaction) throws(PostgresError) in
            try transaction.run(PostgresStatement(sql, [value, .null(value.type)]))
        }.committed()
        #expect(try Self.read(found, as: value.type) == value)
        #expect(try found.boolean(0, 1) && found.boolean(0, 2) && found.isNull(0, 3))
        #expect(throws: PostgresError.self) { try found.isNull(1, 0) }
        #expect(throws: PostgresError.self) { try found.isNull(0, 4) }
        #expect(throws: PostgresError.self) { try found.isNull(-1, 0) }
        let error = try #require(throws: PostgresError.self) { try found.integers(0, 1) }
        #expect(error.reason == .protocolViolation && error.message.contains("type 16"))
    }

    @Test(.enabled(if: PostgresServer.isInstalled, Comment(rawValue: PostgresServer.advice)))
    func nullsAreOptionalValues() throws {
        let pool = try PostgresServer.shared.get().pool()
        defer { pool.close() }
        let rows = try pool.read { (transaction) throws(PostgresError) in
            try transaction.run(
                PostgresStatement(
                    "SELECT $1::int8, $2::bool, $3::text, $4::bytea, $5::int8[]",
                    [
                        .null(.integer), .null(.boolean), .null(.text), .null(.bytes), .null(.integers),
                    ]))
        }
        #expect(try rows.optionalInteger(0, 0) == nil && rows.optionalBoolean(0, 1) == nil)
        #expect(try rows.optionalText(0, 2) == nil && rows.optionalBytes(0, 3) == nil)
        let error = #expect(throws: PostgresError.self) { try rows.integer(0, 0) }
        #expect(error?.message.contains("is NULL") == true)
        #expect(throws: PostgresError.self) { try rows.integers(0, 4) }
        #expect(throws: PostgresError.self) { try rows.withBytes(0, 3) { $0.count } }
    }

    // MARK: Decoding

    private static func encoded(_ value: PostgresValue) throws -> [UInt8] {
        Array(try PostgresParameters([value]).bytes.dropLast())
    }

    private static func decode(_ bytes: [UInt8]) throws -> [[UInt8]?] {
        try bytes.withUnsafeBytes { (bytes) throws(PostgresError) in
            try PostgresBytes.array(bytes, of: .bytes) { Array($0) }
        }
    }

    /// No prefix of an array is one, and no byte behind it is ignored.
    @Test func cutArraysAreRefused() throws {
        let whole = try Self.encoded(.byteStrings([[1, 2], nil, [], [3]]))
        #expect(try Self.decode(whole) == [[1, 2], nil, [], [3]])
        for count in whole.indices { #expect(throws: PostgresError.self) { try Self.decode(Array(whole[..<count])) } }
        #expect(throws: PostgresError.self) { try Self.decode(whole + [0]) }
    }

    /// Numbers at the places of dimensions, flags, type, size and the first length.
    @Test(arguments: [0, 4, 8, 12, 20], [Int32.min, -2, -1, 2, 3, 0x00ff_ffff, .max])
    func falseNumbersAreRefused(_ offset: Int, _ number: Int32) throws {
        // The second element's NULL makes -1 valid at the place of the first length, but then bytes are left.
        var bytes = try Self.encoded(.byteStrings([[1, 2, 3, 4, 5], nil, [], [3]]))
        withUnsafeBytes(of: number.bigEndian) { bytes.replaceSubrange(offset..<offset + 4, with: $0) }
        #expect(throws: PostgresError.self) { try Self.decode(bytes) }
    }

    @Test func flippedBytesEndNothing() throws {
        let whole = try Self.encoded(.byteStrings([[1, 2], nil, [], [3]]))
        for offset in whole.indices {
            for bit in 0..<8 {
                var bytes = whole
                bytes[offset] ^= 1 << UInt8(bit)
                _ = try? Self.decode(bytes)
            }
        }
    }

    @Test(arguments: [0, 1, 3, 5, 7, 9]) func numbersHaveTheirSize(_ count: Int) {
        let bytes = [UInt8](repeating: 1, count: count)
        #expect(throws: PostgresError.self) {
            try bytes.withUnsafeBytes { (bytes) throws(PostgresError) in
                try PostgresBytes.integer(bytes, as: Int64.self)
            }
        }
        #expect(throws: PostgresError.self) {
            try [UInt8](repeating: 2, count: count).withUnsafeBytes { (bytes) throws(PostgresError) in
                try PostgresBytes.boolean(bytes)
            }
        }
    }

    @Test func textsAreUTF8() {
        #expect(throws: PostgresError.self) {
            try [UInt8]([0xC3, 0x28]).withUnsafeBytes { (bytes) throws(PostgresError) in try PostgresBytes.text(bytes) }
        }
    }

    // MARK: Limits

    @Test(arguments: [PostgresValue.text("a\0b"), .texts([nil, "\0"])]) func textsWithNULAreNotSent(
        _ value: PostgresValue
    ) {
        let error = #expect(throws: PostgresError.self) { try PostgresParameters([value]) }
        #expect(error?.reason == .bug)
    }

    @Test func moreParametersThanTheProtocolHasAreNotSent() throws {
        _ = try PostgresParameters(Array(repeating: .boolean(true), count: 65_535))
        #expect(throws: PostgresError.self) { try PostgresParameters(Array(repeating: .boolean(true), count: 65_536)) }
    }

    @Test(arguments: [("a", "\"a\""), ("A b", "\"A b\""), ("a\"b", "\"a\"\"b\""), ("ä;--", "\"ä;--\"")])
    func namesAreQuoted(_ name: String, _ quoted: String) throws {
        #expect(try PostgresStatement.quoted(name) == quoted)
    }

    @Test(arguments: ["", "a\0", String(repeating: "a", count: 64)]) func namesThatCannotBeAreRefused(_ name: String) {
        #expect(throws: PostgresError.self) { try PostgresStatement.quoted(name) }
    }
}
