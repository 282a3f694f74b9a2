import Testing
import TransferModel

@Suite struct JSONLineTests {
    @Test(arguments: [
        ("", "\"\""), ("photo.png", "\"photo.png\""), ("a\"b\\c/d", #""a\"b\\c/d""#),
        ("\u{8}\t\n\u{C}\r", #""\b\t\n\f\r""#), ("\r\n", #""\r\n""#),
        ("\0\u{1}\u{1F}\u{1B}", #""\u0000\u0001\u001f\u001b""#),
        ("\u{7F}\u{80}\u{9F}\u{A0}", "\"\\u007f\\u0080\\u009f\u{A0}\""), ("\u{2028}\u{2029}", #""\u2028\u2029""#),
        ("\u{61C}\u{200E}\u{202E}\u{2066}", #""\u061c\u200e\u202e\u2066""#), ("日本語 😀 e\u{301}", "\"日本語 😀 e\u{301}\""),
        ("\"\u{301}", "\"\\\"\u{301}\""),
    ]) func strings(_ value: String, json: String) {
        // Compares code points, because canonically equivalent strings are equal.
        #expect(Array(JSONValue.string(value).text.unicodeScalars) == Array(json.unicodeScalars))
    }

    @Test func whatNeedsNoEscapes() {
        #expect(JSONValue.plain("aGVs+/8=").text == JSONValue.string("aGVs+/8=").text)
    }

    @Test func everyScalarIsOneLineOfValidText() {
        for value in 0...UInt32(0x30FF) {
            guard let scalar = Unicode.Scalar(value) else { continue }
            let text = JSONValue.string(String(Character(scalar))).text
            #expect(text.unicodeScalars.allSatisfy { $0.value >= 0x20 && $0.value != 0x2028 && $0.value != 0x2029 })
        }
    }

    @Test(arguments: [
        (JSONValue.null, "null"), (.bool(true), "true"), (.bool(false), "false"), (.integer(0), "0"),
        (.integer(-5 as Int8), "-5"), (.integer(UInt64.max), "18446744073709551615"),
        (.integer(Int64.min), "-9223372036854775808"), (.double(0.1), "0.1"), (.double(1), "1.0"),
        (.double(-0.5), "-0.5"), (.double(1e300), "1e+300"), (.double(.leastNonzeroMagnitude), "5e-324"),
        (.double(.nan), "null"),
        (.double(.infinity), "null"), (.array([]), "[]"), (.array([1, "a", nil, true]), #"[1,"a",null,true]"#),
        (.object(["a": .object([:])]), #"{"a":{}}"#),
    ]) func values(_ value: JSONValue, json: String) {
        #expect(value.text == json)
    }

    @Test func membersKeepTheirOrder() {
        var line: JSONLine = ["event": "committed", "size": 12, "durable": true]
        line.append("a\"b", nil)
        line.append("bytes", .integer(UInt64.max))
        #expect(
            line.text == #"{"event":"committed","size":12,"durable":true,"a\"b":null,"bytes":18446744073709551615}"#)
        #expect(JSONLine().text == "{}")
    }

    @Test func repeatedKeyTraps() async {
        await #expect(processExitsWith: .failure) {
            var line: JSONLine = ["a": 1]
            line.append("a", 2)
        }
    }
}
