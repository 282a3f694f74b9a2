import Testing
import TransferHTTP
import TransferTestSupport

/// RFC 6266 and RFC 8187.
@Suite struct ContentDispositionTests {
    static let known: [(String, String?)] = [
        ("Attachment; filename=example.html", "example.html"),
        ("INLINE; FILENAME=\"an example.html\"", "an example.html"),
        ("attachment; filename*=UTF-8''%e2%82%ac%20rates", "€ rates"),
        ("attachment; filename=\"EURO rates\"; filename*=utf-8''%e2%82%ac%20rates", "€ rates"), ("attachment", nil),
        ("attachment; filename=\"a\\\\b\\\"\"", "a\\b\""), ("attachment; filename*=UTF-8'en-GB'a", "a"),
        ("attachment; filename=\"%41.txt\"", "%41.txt"),
        ("attachment; filename*=UTF-8''a!#$&+-.^_`|~", "a!#$&+-.^_`|~"),
    ]

    @Test(arguments: known) func reading(_ text: String, _ filename: String?) {
        #expect(ContentDisposition(text.utf8)?.filename == filename.map { Array($0.utf8) })
    }

    @Test(arguments: [
        "", ";", "attachment filename=a", "attachment; filename=", "attachment; filename=a; filename=b",
        "attachment; filename=\"a",
        "attachment; filename=\"a\\b\"", "attachment; filename*=a", "attachment; filename*=UTF-8'a",
        "attachment; filename*=latin1''a",
        "attachment; filename*=UTF-8''%", "attachment; filename*=UTF-8''%f", "attachment; filename*=UTF-8''%ff",
        "attachment; filename*=UTF-8''a'b",
        "attachment; filename*=UTF-8''%00", "attachment; filename*=UTF-8'e n'a", "attachment; filename*=\"UTF-8''a b\"",
        "attachment; filename=\"a\u{0}b\"", "attachment; filename=ä", "attachment; filename*=UTF-8''ä",
    ]) func refused(_ text: String) {
        #expect(ContentDisposition(text.utf8) == nil)
    }

    static let written: [(String, String)] = [
        ("a.txt", "attachment; filename=\"a.txt\""), ("a b;c.txt", "attachment; filename=\"a b;c.txt\""),
        ("ä.txt", "attachment; filename=\"_.txt\"; filename*=UTF-8''%C3%A4.txt"),
        ("a\"b\\c%", "attachment; filename=\"a_b_c_\"; filename*=UTF-8''a%22b%5Cc%25"),
        ("a\r\nX: y", "attachment; filename=\"a__X: y\"; filename*=UTF-8''a%0D%0AX%3A%20y"),
    ]

    @Test(arguments: written) func writing(_ filename: String, _ text: String) {
        #expect(ContentDisposition.attachment(filename) == text)
    }

    @Test func whatIsWrittenIsRead() {
        var generator = SplitMix64(seed: 3)
        for _ in 0..<1000 {
            let name = String(decoding: generator.bytes(Int.random(in: 1...12, using: &generator)), as: UTF8.self)
            let text = ContentDisposition.attachment(name)
            #expect(text.utf8.allSatisfy { 0x20..<0x7F ~= $0 })
            guard name.utf8.allSatisfy({ $0 >= 0x20 && $0 != 0x7F }) else { continue }
            #expect(ContentDisposition(text.utf8)?.filename == Array(name.utf8))
        }
    }
}
