import Testing
import TransferModel

@Suite struct JSONLineASCIITests {
    @Test(arguments: [
        ("plain", #"{"a":"plain"}"#), ("é你😀", #"{"a":"\u00e9\u4f60\ud83d\ude00"}"#), ("\"\\\n", #"{"a":"\"\\\n"}"#),
        ("e\u{301}", #"{"a":"e\u0301"}"#), ("\u{10FFFF}", #"{"a":"\udbff\udfff"}"#),
    ]) func escaped(_ text: String, _ json: String) throws {
        let object: JSONLine = ["a": .string(text)]
        #expect(object.asciiText == json)
        #expect(try JSONReader.read(Array(object.asciiText.utf8)) == .object([("a", .string(text))]))
    }
}
