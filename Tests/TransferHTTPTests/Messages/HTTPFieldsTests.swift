import Testing
import TransferHTTP

@Suite struct HTTPFieldsTests {
    private static func fields(_ lines: (String, String)...) -> HTTPFields {
        var fields = HTTPFields()
        for (name, value) in lines { fields.append(name, value) }
        return fields
    }

    @Test func namesInAnyCase() {
        let fields = Self.fields(("Content-Type", "a"), ("X", "1"), ("CONTENT-TYPE", "b"))
        #expect(fields.lines.map(\.name) == ["content-type", "x", "content-type"])
        #expect(fields.values("content-type") == [Array("a".utf8), Array("b".utf8)])
        #expect(fields.values("Content-Type").count == 2 && fields.has("X") && fields.has("x") && !fields.has("y"))
        #expect(!fields.has("content-typ") && !fields.has("content-type2") && !fields.has(""))
    }

    /// Only letters of ASCII have upper and lower case: a Kelvin sign is not a k.
    @Test func namesAreNotUnicode() {
        let fields = HTTPFields([HTTPField(name: "\u{212A}", value: [])])
        #expect(!fields.has("k") && fields.has("\u{212A}"))
    }

    @Test func fieldsThatMayComeOnce() throws {
        let fields = Self.fields(("A", "1"), ("b", "1"), ("B", "1"), ("c", "é"), ("d", ""))
        #expect(try fields.only("a") == "1")
        #expect(try fields.only("d") == "")
        #expect(try fields.only("x") == nil)
        for name in ["b", "c"] {
            let fault = #expect(throws: HTTPFault.self) { try fields.only(name) }
            #expect(fault?.status == 400)
        }
    }

    private static let lists: [([String], [String])] = [
        ([], []), ([""], []), ([",, ,\t,"], []), (["a"], ["a"]), (["a,b"], ["a", "b"]), ([" a , b ,"], ["a", "b"]),
        (["a", "", "b , c"], ["a", "b", "c"]), (["a b"], ["a b"]), (["\"a,b\", c"], ["\"a,b\"", "c"]),
        (["\"a\\\",b\",c"], ["\"a\\\",b\"", "c"]), (["\"a\\\\\",c"], ["\"a\\\\\"", "c"]),
        (["\"a,b", "c"], ["\"a,b", "c"]),
        (["\"a\\"], ["\"a\\"]), (["a\\,b"], ["a\\", "b"]), (["W/\"1,2\",\"3\""], ["W/\"1,2\"", "\"3\""]),
        (["a=\"b,c\";d, e"], ["a=\"b,c\";d", "e"]), (["é,ü"], ["é", "ü"]), (["\"\",x"], ["\"\"", "x"]),
    ]

    @Test(arguments: lists) func membersOfLists(_ values: [String], _ members: [String]) {
        var fields = HTTPFields()
        for value in values { fields.append("L", value) }
        #expect(fields.list("l") == members)
    }

    /// If the field were ignored, a condition that the client sent would not apply.
    @Test func listsThatAreNotUTF8() {
        let fields = HTTPFields([HTTPField(name: "If-Match", value: [0xFF, 0x2C, 0x61])])
        #expect(fields.list("if-match") == ["\u{FFFD}", "a"])
        #expect(fields.lines[0].text == nil && HTTPField(name: "x", value: [0x61]).text == "a")
    }
}
