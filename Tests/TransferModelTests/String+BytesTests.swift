import Testing

@testable import TransferModel

@Suite struct StringBytesTests {
    private static let texts = [
        "", "a", "b", "ab", "e\u{301}", "\u{E9}", "a long text that lies in memory", "写真/😀.jpg",
    ]

    @Test(arguments: texts, texts) func sameBytesAreTheSame(_ a: String, _ b: String) {
        #expect(a.hasSameBytes(as: b) == (Array(a.utf8) == Array(b.utf8)))
        #expect((a + "/x").hasSameBytes(as: b + "/x") == (Array(a.utf8) == Array(b.utf8)))
    }
}
