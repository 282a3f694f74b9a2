import Testing
import TransferModel
import TransferTestSupport

@Suite struct JSONReaderTests {
    @Test(
        arguments: [
            ("null", .null), ("true", .bool(true)), ("false", .bool(false)), ("0", .number("0")),
            ("-1.50e+3", .number("-1.50e+3")),
            (" \"\" ", .string("")), (#""a\"\\\/\b\f\n\r\t""#, .string("a\"\\/\u{8}\u{C}\n\r\t")),
            (#""\u00e9\uD83C\uDF89""#, .string("é🎉")), ("[]", .array([])),
            ("[1, [ ] ]", .array([.number("1"), .array([])])),
            (#"{"a":1,"b":{}}"#, .object([("a", .number("1")), ("b", .object([]))])), ("{ }", .object([])),
        ] as [(String, JSONNode)])
    func values(_ text: String, _ node: JSONNode) throws { #expect(try JSONReader.read(Array(text.utf8)) == node) }

    @Test(arguments: [
        "", " ", "nul", "nulll", "01", "1.", ".5", "-", "+1", "1e", "\"", "\"\\x\"", "\"\\u12\"", "\"\n\"", "[1,]",
        "[1 2]",
        "{\"a\"}", "{a:1}", "{\"a\":1,}", "[", "{", "1 1", "\"\\ud800\"", "\"\\ud800\\u0041\"", "\"\\udc00\\udc00\"",
        "'a'",
    ])
    func faults(_ text: String) {
        #expect(throws: JSONFault.self) { try JSONReader.read(Array(text.utf8)) }
    }

    @Test func bytesThatAreNoText() {
        #expect(throws: JSONFault("it is not UTF-8")) { try JSONReader.read([0x22, 0xFF, 0x22]) }
    }

    @Test func depth() throws {
        let deepest =
            String(repeating: "[", count: JSONReader.deepest) + String(repeating: "]", count: JSONReader.deepest)
        _ = try JSONReader.read(Array(deepest.utf8))
        #expect(throws: JSONFault("it is nested too deeply")) { try JSONReader.read(Array("[\(deepest)]".utf8)) }
        #expect(throws: JSONFault.self) { try JSONReader.read([UInt8](repeating: 0x5B, count: 1 << 20)) }
    }

    @Test func depthThatIsAskedFor() throws {
        #expect(try JSONReader.read(Array("[[]]".utf8), deepest: 2) == .array([.array([])]))
        #expect(throws: JSONFault("it is nested too deeply")) { try JSONReader.read(Array("[[]]".utf8), deepest: 1) }
    }

    @Test func charactersThatEndStringsInC() throws {
        let text = Array(#"["a\u0000b"]"#.utf8)
        #expect(try JSONReader.read(text) == .array([.string("a\0b")]))
        #expect(throws: JSONFault("it contains a NUL character")) { try JSONReader.read(text, allowsNUL: false) }
    }

    /// `é` as one character and as two, and a Kelvin sign, which equals `K` for `String`.
    @Test func membersAreToldApartByTheirBytes() throws {
        let node = try JSONReader.read(Array("{\"\u{e9}\":1,\"e\u{301}\":2,\"\u{212A}\":3}".utf8))
        #expect(node["\u{e9}"] == .number("1"))
        #expect(node["e\u{301}"] == .number("2"))
        #expect(node["K"] == nil)
        #expect(throws: JSONFault("a member is given twice")) {
            try JSONReader.read(Array(#"{"a":1,"\u0061":2}"#.utf8))
        }
    }

    /// A written string is read as an equal string.
    @Test func readsWhatIsWritten() throws {
        var generator = SplitMix64(seed: 7)
        for _ in 0..<500 {
            let scalars = (0..<20).compactMap { _ in Unicode.Scalar(UInt32.random(in: 0...0x2FFFF, using: &generator)) }
            let text = String(String.UnicodeScalarView(scalars))
            #expect(try JSONReader.read(Array(JSONValue.string(text).text.utf8)) == .string(text))
        }
    }

    @Test func randomBytes() {
        var generator = SplitMix64(seed: 8)
        let alphabet = Array("{}[]\",:\\u0189eE+-.truefalsn \u{e9}".utf8)
        for _ in 0..<20_000 {
            let bytes = (0..<Int.random(in: 0..<24, using: &generator)).map { _ in
                alphabet[Int.random(in: 0..<alphabet.count, using: &generator)]
            }
            _ = try? JSONReader.read(bytes)
        }
    }
}
