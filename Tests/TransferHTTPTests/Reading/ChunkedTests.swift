import Testing
import TransferHTTP

@Suite struct ChunkedTests {
    private static let head = "PUT / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n"

    /// The messages after the head.
    private static func heard(_ body: String) -> [HeardMessage] {
        Array(MessageListener.everyWay(head + body).dropFirst())
    }

    private static let good: [(String, [HeardMessage])] = [
        ("0\r\n\r\n", [.end]), ("00000000\r\n\r\n", [.end]), ("1\r\na\r\n0\r\n\r\n", [.content("a"), .end]),
        ("A\r\n0123456789\r\n0\r\n\r\n", [.content("0123456789"), .end]),
        ("a\r\n0123456789\r\n0\r\n\r\n", [.content("0123456789"), .end]),
        ("0000000000000001\r\na\r\n0\r\n\r\n", [.content("a"), .end]),
        ("3\r\n\r\n0\r\n0\r\n\r\n", [.content("\r\n0"), .end]),
        ("1;a\r\nx\r\n0;b=c\r\n\r\n", [.content("x"), .end]),
        ("1;a=b;c=\"d; \\\" é\";e\r\nx\r\n0\r\n\r\n", [.content("x"), .end]),
        ("1;a=\"\"\r\nx\r\n0\r\n\r\n", [.content("x"), .end]),
        ("7fffffffffffffff\r\nabc", [.content("abc")]), ("000000000000000f\r\nabc", [.content("abc")]),
    ]

    @Test(arguments: good) func taken(_ body: String, _ steps: [HeardMessage]) {
        #expect(Self.heard(body) == steps)
    }

    @Test func trailers() {
        let fields = HTTPFields([
            HTTPField(name: "repr-digest", value: Array("sha-256=:x:".utf8)), HTTPField(name: "x", value: []),
        ])
        #expect(Self.heard("0\r\nRepr-Digest: sha-256=:x:\r\nX:\r\n\r\n") == [.end(fields)])
    }

    private static let bad: [(String, String)] = [
        ("\r\n", "an empty line for a size"), ("g\r\n", "no digit"), ("+1\r\na\r\n", "a plus"),
        ("-1\r\na\r\n", "a minus"), ("0x1\r\na\r\n", "a prefix"), (" 1\r\na\r\n", "a space in front"),
        ("1 \r\na\r\n", "a space behind"), ("1\t\r\na\r\n", "a tab behind"),
        ("1 ;a\r\nx\r\n", "a space before a semicolon"),
        ("1; a\r\nx\r\n", "a space behind a semicolon"), ("1;a =b\r\nx\r\n", "a space before ="),
        ("1;a= b\r\nx\r\n", "a space behind ="), ("1;\r\nx\r\n", "an empty extension"),
        ("1;;a\r\nx\r\n", "an empty extension and another"), ("1;=a\r\nx\r\n", "an extension without a name"),
        ("1;a=\r\nx\r\n", "an extension without its value"), ("1;a=\"b\r\nx\r\n", "a quote that doesn't end"),
        ("1;a=\"b\\\r\nx\r\n", "an escape that doesn't end"), ("1;a=\"b\"c\r\nx\r\n", "something behind a quote"),
        ("1;a=b c\r\nx\r\n", "a space in a value"), ("1;\0\r\nx\r\n", "NUL"), ("1;a=\"\u{1}\"\r\nx\r\n", "a control"),
        ("1;a=\"\\\u{1}\"\r\nx\r\n", "an escaped control"), (";a\r\nx\r\n", "an extension without a size"),
        ("1,1\r\nx\r\n", "a comma"), ("1_0\r\nx\r\n", "an underscore"), ("1.0\r\nx\r\n", "a point"),
        ("00000000000000001\r\na\r\n", "17 digits"), ("8000000000000000\r\na\r\n", "more than Int64"),
        ("ffffffffffffffff\r\na\r\n", "2^64 - 1"), ("10000000000000000\r\na\r\n", "2^64, 0 with an overflow"),
        ("100000001000000001\r\na\r\n", "1 with an overflow"), ("1\na\r\n", "LF behind a size"),
        ("1\ra\r\n", "CR behind a size"), ("1\r\r\na\r\n", "CR CR LF behind a size"),
        ("1;a\nb\r\nx\r\n", "LF in an extension"), ("1;a\r\r\nx\r\n", "CR in an extension"),
        ("0\r\n\n", "LF for the last empty line"), ("0\n\r\n", "LF behind the last size"),
        ("0\r\nX: a\n\r\n", "LF in trailers"), ("0\r\nX: a\r\n b\r\n\r\n", "a folded trailer"),
        ("0\r\nX : a\r\n\r\n", "a space before the colon in trailers"), ("0\r\nX\r\n\r\n", "a trailer without a colon"),
        ("0\r\n: a\r\n\r\n", "a trailer without a name"), ("0\r\nX: \0\r\n\r\n", "NUL in trailers"),
        ("0\r\n X: a\r\n\r\n", "a blank before the first trailer"),
        ("0\r\nContent-Length: 0\r\n\r\n", "a length in trailers"),
        ("0\r\nTransfer-Encoding: chunked\r\n\r\n", "a coding in trailers"),
        ("0\r\nHost: a\r\n\r\n", "a Host in trailers"),
        ("0\r\nGET / HTTP/1.1\r\n\r\n", "a request in place of trailers"),
    ]

    @Test(arguments: bad) func refused(_ body: String, _ why: String) {
        let heard = Self.heard(body)
        #expect(heard.count == 1 && heard.first?.fault?.status == 400, "\(why): \(heard)")
    }

    private static let ends: [(String, String)] = [
        ("1\r\nab\r\n0\r\n\r\n", "more content than its size"), ("1\r\na\n0\r\n\r\n", "LF behind content"),
        ("1\r\na\r0\r\n\r\n", "CR behind content"), ("1\r\na0\r\n\r\n", "nothing behind content"),
        ("1\r\na\r\n\r\n", "an empty line for the next size"), ("2\r\na\r\n0\r\n\r\n", "less content than its size"),
    ]

    @Test(arguments: ends) func endsOfChunks(_ body: String, _ why: String) {
        let heard = Self.heard(body)
        #expect(heard.count == 2 && heard.last?.fault?.status == 400, "\(why): \(heard)")
    }

    /// The length of extensions is at the limit, below it, or above it.
    @Test(arguments: [(255, true), (256, true), (257, false), (300, false), (1000, false)])
    func extensions(_ count: Int, _ isTaken: Bool) {
        let extensions = ";" + String(repeating: "a", count: count - 1)
        for size in ["1", "0000000000000001"] {
            let heard = Self.heard("\(size)\(extensions)\r\nx\r\n0\r\n\r\n")
            if isTaken {
                #expect(heard == [.content("x"), .end])
            } else {
                #expect(heard.count == 1 && heard.first?.fault?.status == 400)
            }
        }
    }

    @Test(arguments: [(15, true), (16, true), (17, false)]) func trailerFields(_ count: Int, _ isTaken: Bool) {
        let heard = Self.heard("0\r\n" + String(repeating: "X: a\r\n", count: count) + "\r\n")
        #expect(isTaken ? heard.count == 1 && heard.first?.fault == nil : heard.first?.fault?.status == 431)
    }

    /// All trailers with the empty line, in one field and in two.
    @Test(arguments: [(4095, true), (4096, true), (4097, false), (4100, false), (8000, false)])
    func trailerBytes(_ count: Int, _ isTaken: Bool) {
        func isGood(_ trailers: String) -> Bool {
            let body = Array((Self.head + "0\r\n" + trailers + "\r\n").utf8)
            #expect(trailers.utf8.count + 2 == count)
            let whole = MessageListener.requests(body)
            #expect(MessageListener.requests(body, cutAt: Array(body.indices)) == whole)
            guard let fault = whole.last?.fault else { return whole.count == 2 }
            #expect(whole.count == 2 && fault.status == 431)
            return false
        }
        #expect(isGood("X: " + String(repeating: "a", count: count - 7) + "\r\n") == isTaken)
        #expect(isGood("Y: a\r\nX: " + String(repeating: "a", count: count - 13) + "\r\n") == isTaken)
    }

    /// A trailer line that is too long is refused at once, not at its end.
    @Test(arguments: [(4095, nil), (4096, nil), (4097, 431)] as [(Int, Int?)])
    func trailersThatDoNotEnd(_ count: Int, _ status: Int?) {
        let heard = MessageListener.requests(Self.head + "0\r\nX: " + String(repeating: "a", count: count - 3))
        #expect(heard.count == (status == nil ? 1 : 2) && heard.last?.fault?.status == status)
    }
}
