import Testing

@testable import TransferCLI

@Suite struct TOMLDocumentTests {
    static func read(_ text: String) throws -> TOMLDocument { try TOMLDocument(Array(text.utf8)) }

    @Test(
        arguments: [
            (#"a = "x""#, .string("x")), ("a='x\\n'", .string(#"x\n"#)), (#"a = """#, .string("")),
            (#"a = "\b\t\n\f\r\"\\\u00e9\U0001F600""#, .string("\u{8}\t\n\u{C}\r\"\\é😀")),
            (#""a" = "é#=[]" # comment"#, .string("é#=[]")), ("'a'\t=\t''", .string("")),
            ("a = 0", .integer(0)), ("a = -0", .integer(0)), ("a = +17", .integer(17)), ("a=1_000", .integer(1000)),
            ("a = -9223372036854775808", .integer(.min)), ("a = true", .boolean(true)), ("a = false#", .boolean(false)),
            ("a = []", .strings([])), (#"a = [ "x" , 'y', ]"#, .strings(["x", "y"])),
            ("a = [ # one\r\n  'x', # two\r\n\r\n  'y'\r\n]\r\n", .strings(["x", "y"])),
        ] as [(String, TOMLValue)]) func reads(_ text: String, value: TOMLValue) throws
    {
        let document = try Self.read(text)
        #expect(document.tables.count == 1 && document.tables[0].entries.count == 1)
        #expect(document.tables[0].entries[0].key == "a" && document.tables[0].entries[0].value == value)
    }

    @Test func tablesAndLines() throws {
        let document = try Self.read(
            """
            # first

            top = 1
              [ a . "b c" ] # here
            x = [
              'y',
            ]
            z = 2
            [a]
            [e]\u{20}
            """)
        #expect(document.tables.map(\.path) == [[], ["a", "b c"], ["a"], ["e"]])
        #expect(document.tables.map(\.line) == [0, 4, 9, 10])
        #expect(document.tables[1].entries.map(\.line) == [5, 8])
        #expect(document.tables[1].entries.map(\.lastLine) == [7, 8])
        #expect(document[["a"]]?.entries.isEmpty == true && document[["b"]] == nil)
    }

    @Test(arguments: ["", "\n", "\r\n", "# x", "  \t# é\n\n"]) func mayBeEmpty(_ text: String) throws {
        #expect(try Self.read(text).tables == [TOMLDocument.Table(path: [], line: 0)])
    }

    @Test(arguments: [
        ("x", 1, 2, "'=' is missing"), ("= 1", 1, 1, "a key is missing"), ("\n  é = 1", 2, 3, "a key is missing"),
        ("a.b = 1", 1, 2, "keys with dots are not supported; give the table a header"),
        ("a =", 1, 4, "a value is missing; strings need quotes"),
        ("a = x", 1, 5, "only whole decimal numbers, true and false need no quotes"),
        ("a = 1.5", 1, 5, "only whole decimal numbers, true and false need no quotes"),
        ("a = 0x1", 1, 5, "only whole decimal numbers, true and false need no quotes"),
        ("a = 01", 1, 5, "only whole decimal numbers, true and false need no quotes"),
        ("a = 1__0", 1, 5, "only whole decimal numbers, true and false need no quotes"),
        ("a = 1979-05-27", 1, 5, "only whole decimal numbers, true and false need no quotes"),
        ("a = 9223372036854775808", 1, 5, "a number is too large"),
        ("a = 1 2", 1, 7, "there is something after the end of a header or value"),
        ("a = 'x' y", 1, 9, "there is something after the end of a header or value"),
        ("[a] b", 1, 5, "there is something after the end of a header or value"),
        ("a = \"é", 1, 7, "a quote is not closed"), ("a = 'x\n'", 1, 7, "a quote is not closed"),
        ("a = \"x\r\n\"", 1, 7, "a quote is not closed"),
        ("a = \"\"\"x\"\"\"", 1, 5, "strings of several lines are not supported"),
        ("a = '''x'''", 1, 5, "strings of several lines are not supported"),
        (
            #"a = "C:\x""#, 1, 8,
            "unknown escape; write a backslash twice, or use single quotes"
        ),
        ("a = \"\\", 1, 6, "unknown escape; write a backslash twice, or use single quotes"),
        (#"a = "\u12""#, 1, 6, "an escape needs 4 hexadecimal digits"),
        (#"a = "\ud800""#, 1, 6, "there is no such character"),
        (#"a = "\UFFFFFFFF""#, 1, 6, "there is no such character"),
        ("a = [1]", 1, 6, "arrays can contain only strings"), ("a = [['x']]", 1, 6, "arrays can contain only strings"),
        ("a = ['x' 'y']", 1, 10, "',' or ']' is missing"), ("a = [,]", 1, 6, "arrays can contain only strings"),
        ("a = ['x',\n", 2, 1, "an array is not closed by ']'"),
        ("a = { b = 1 }", 1, 5, "tables within a line are not supported; give the table a header"),
        ("[[a]]", 1, 1, "arrays of tables are not supported"), ("[a", 1, 3, "a header is not closed by ']'"),
        ("[]", 1, 2, "a key is missing"), ("[a.]", 1, 4, "a key is missing"),
        ("[a.b.c.d.e.f.g.h.i]", 1, 18, "a header has too many parts"),
        ("[a]\n[a]", 2, 1, "[a] already exists in line 1"),
        ("a = 1\na = 1", 2, 1, "'a' already exists in line 1"),
        ("a = 1\n[a.b]", 2, 1, "[a.b] is below the value in line 1"),
        ("[a.b]\n[a]\nb = 1", 3, 1, "'b' is a table already"),
        ("a = 1\r", 1, 6, "there is a control character"), ("# \u{7F}", 1, 3, "there is a control character"),
        ("a = 'x\0y'", 1, 7, "there is a control character"),
    ]) func refuses(_ text: String, line: Int, column: Int, message: String) {
        #expect(throws: TOMLFault(message: message, line: line, column: column)) { try Self.read(text) }
    }

    @Test func onlyUnicodeIsText() {
        #expect(throws: TOMLFault(message: "the text is not UTF-8", line: 1, column: 1)) {
            try TOMLDocument(Array("a = '".utf8) + [0xFF] + Array("'".utf8))
        }
    }

    @Test(arguments: ["", "plain", "a \"b\" \\ c", "\0\n\t\u{1B}[31m", "é 😀", "\u{202E}x", "\u{7F}\u{85}"])
    func whatIsWrittenIsRead(_ text: String) throws {
        for value in [TOMLValue.string(text), .strings([text, "x"])] {
            let document = try Self.read("a = \(value.text)")
            #expect(document.tables[0].entries[0].value == value)
        }
    }
}
