import Testing
import TransferHTTP

@Suite struct ResponseReaderTests {
    private static func head(
        _ status: Int, _ reason: String?, _ fields: [(String, String)] = [], _ version: HTTPVersion = .http11
    ) -> ResponseHead {
        var all = HTTPFields()
        for (name, value) in fields { all.append(name, value) }
        return ResponseHead(status, reason: reason, version: version, fields: all)
    }

    private static func everyWay(
        _ text: String, to methods: [HTTPMethod] = [.get], closes: Bool = false
    ) -> [HeardMessage] {
        let whole = MessageListener.answers(text, to: methods, closes: closes)
        MessageListener.expectSameHoweverCut(text.utf8.count, whole) {
            MessageListener.answers(text, to: methods, cutAt: $0, closes: closes)
        }
        return whole
    }

    @Test func pipelinedAnswers() {
        let text =
            "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 104 Upload Resumption Supported\r\nLocation: /u\r\n\r\n"
            + "HTTP/1.1 201 Created\r\nContent-Length: 2\r\n\r\nok" + "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n"
            + "HTTP/1.1 304 Not Modified\r\nContent-Length: 9\r\n\r\n" + "HTTP/1.1 204 No Content\r\n\r\n"
            + "HTTP/1.1 204 \r\nContent-Length: 0\r\n\r\n"
            + "HTTP/1.1 200\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n0\r\nT: 1\r\n\r\n"
            + "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nthe rest"
        let expected: [HeardMessage] = [
            .informational(Self.head(100, "Continue")),
            .informational(Self.head(104, "Upload Resumption Supported", [("location", "/u")])),
            .response(Self.head(201, "Created", [("content-length", "2")]), .length(2)), .content("ok"), .end,
            .response(Self.head(200, "OK", [("content-length", "9")]), .none), .end,
            .response(Self.head(304, "Not Modified", [("content-length", "9")]), .none), .end,
            .response(Self.head(204, "No Content"), .none), .end,
            .response(Self.head(204, nil, [("content-length", "0")]), .none), .end,
            .response(Self.head(200, nil, [("transfer-encoding", "chunked")]), .chunked), .content("hi"),
            .end(HTTPFields([HTTPField(name: "t", value: [0x31])])),
            .response(Self.head(200, "OK", [("connection", "close")]), .untilClose), .content("the rest"), .end,
        ]
        let methods: [HTTPMethod] = [.put, .head, .get, .delete, .patch, .get, .get]
        #expect(Self.everyWay(text, to: methods, closes: true) == expected)
    }

    @Test func contentUntilTheConnectionCloses() {
        let old = "HTTP/1.0 200 OK\r\n\r\nab"
        let head = HeardMessage.response(Self.head(200, "OK", [], .http10), .untilClose)
        #expect(Self.everyWay(old) == [head, .content("ab")])
        #expect(Self.everyWay(old, closes: true) == [head, .content("ab"), .end])
        #expect(Self.everyWay("HTTP/1.0 200 OK\r\n\r\n", closes: true) == [head, .end])
    }

    @Test func closingTwiceIsClosing() throws {
        var reader = ResponseReader()
        reader.expect(.get)
        _ = try Array("HTTP/1.0 200 OK\r\n\r\n".utf8).withUnsafeBytes { try reader.next($0) }
        #expect(reader.isLastAnswer)
        try reader.closed()
        try reader.closed()
        let nothing = UnsafeRawBufferPointer(start: nil, count: 0)
        #expect(try reader.next(nothing).step == .end(HTTPFields()))
        #expect(try reader.next(nothing).step == .needsMore)
        try reader.closed()
    }

    @Test func closingBetweenAnswers() throws {
        var reader = ResponseReader()
        try reader.closed()
        #expect(!reader.isLastAnswer)
        reader.expect(.get)
        #expect(throws: HTTPFault.self) { try reader.closed() }
    }

    /// The connection closes before some byte of an answer; only content that ends with the connection may be complete
    /// then.
    @Test(arguments: [
        "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n0\r\nX: y\r\n\r\n",
        "HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\nok",
        "HTTP/1.1 200 OK\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n0\r\n\r\n",
    ]) func cutAnswers(_ text: String) {
        for count in 0..<text.utf8.count {
            let heard = MessageListener.answers(String(decoding: text.utf8.prefix(count), as: UTF8.self), closes: true)
            #expect(heard.last?.fault?.status == 502, "\(count): \(heard)")
        }
        #expect(Self.everyWay(text, closes: true).last?.fault == nil)
    }

    @Test func nothingBehindTheLastAnswer() {
        let answers = "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 0\r\n\r\n"
        #expect(Self.everyWay(answers + "x", to: [.get, .get]).last?.fault?.status == 502)
        #expect(Self.everyWay(answers, to: [.get, .get], closes: true).last?.fault?.status == 502)
        #expect(Self.everyWay(answers, closes: true).last == .end)
    }

    @Test func answersThatNobodyAskedFor() {
        let answer = "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"
        #expect(Self.everyWay(answer, to: []).map(\.fault?.status) == [502])
        #expect(Self.everyWay(answer + answer).map(\.fault?.status) == [nil, nil, 502])
    }

    /// The answers that are refused for another reason declare the length of their content.
    private static let refused: [(String, String)] = [
        ("HTTP/1.1 200 OK\n\n", "LF for CRLF"), ("HTTP/1.1 200 OK\r\r\n", "CR CR LF"),
        ("\r\nHTTP/1.1 200 OK\r\n", "an empty line"),
        ("HTTP/2.0 200 OK\r\nContent-Length: 0\r\n\r\n", "another version"),
        ("HTTP/1.1  200 OK\r\nContent-Length: 0\r\n\r\n", "two spaces"),
        ("HTTP/1.1\r\nContent-Length: 0\r\n\r\n", "no status"),
        ("HTTP/1.1 \r\nContent-Length: 0\r\n\r\n", "an empty status"),
        ("HTTP/1.1 20\r\nContent-Length: 0\r\n\r\n", "two digits"),
        ("HTTP/1.1 2000\r\nContent-Length: 0\r\n\r\n", "four digits"),
        ("HTTP/1.1 20x OK\r\nContent-Length: 0\r\n\r\n", "a letter in the status"),
        ("HTTP/1.1 +20 OK\r\nContent-Length: 0\r\n\r\n", "a sign"),
        ("HTTP/1.1 099 OK\r\nContent-Length: 0\r\n\r\n", "a status below 100"),
        ("HTTP/1.1 600 OK\r\nContent-Length: 0\r\n\r\n", "a status above 599"),
        ("HTTP/1.1 200 O\0K\r\nContent-Length: 0\r\n\r\n", "NUL in the phrase"),
        ("HTTP/1.1 200\tOK\r\nContent-Length: 0\r\n\r\n", "a tab behind the status"),
        ("HTTP 200 OK\r\nContent-Length: 0\r\n\r\n", "no version"),
        ("ICY 200 OK\r\nContent-Length: 0\r\n\r\n", "another protocol"),
        (" HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", "a space in front"),
        ("HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\n\r\n", "another protocol, unasked"),
        ("HTTP/1.1 200 OK\r\n\r\n", "content without an end that is known"),
        ("HTTP/1.0 200 OK\r\nConnection: keep-alive\r\n\r\n", "the same in HTTP/1.0"),
        ("HTTP/1.1 200 OK\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n", "both lengths"),
        ("HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 1\r\n\r\n", "two lengths"),
        ("HTTP/1.1 200 OK\r\nContent-Length: +1\r\n\r\n", "no plain number"),
        ("HTTP/1.1 200 OK\r\nContent-Length: 9223372036854775808\r\n\r\n", "a length above Int64"),
        ("HTTP/1.1 200 OK\r\nConnection: close\r\nTransfer-Encoding: gzip\r\n\r\n", "an unknown coding"),
        ("HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", "chunks in HTTP/1.0"),
        ("HTTP/1.1 204 No Content\r\nContent-Length: 1\r\n\r\n", "content with 204"),
        ("HTTP/1.1 204 No Content\r\nTransfer-Encoding: chunked\r\n\r\n", "chunks with 204"),
        ("HTTP/1.1 100 Continue\r\nContent-Length: 1\r\n\r\n", "content with 100"),
        ("HTTP/1.1 100 Continue\r\nTransfer-Encoding: chunked\r\n\r\n", "chunks with 100"),
        ("HTTP/1.1 200 OK\r\nContent-Length: 0\r\nX: a\r\n b\r\n\r\n", "a folded field"),
        ("HTTP/1.1 200 OK\r\nContent-Length: 0\r\nX : a\r\n\r\n", "a space before a colon"),
        ("HTTP/1.1 200 OK\r\nContent-Length: 0\r\nX: \0\r\n\r\n", "NUL in a value"),
        ("HTTP/1.1 200 OK\r\nContent-Length: 0\r\nX\r\n\r\n", "no colon"),
        ("HTTP/1.1 304 Not Modified\r\nContent-Length: x\r\n\r\n", "no plain number, though it means nothing"),
    ]

    @Test(arguments: refused) func refusedHeads(_ text: String, _ why: String) {
        let heard = Self.everyWay(text)
        #expect(heard.map(\.fault?.status) == [502], "\(why): \(heard)")
    }

    @Test(arguments: ["2\r\nabc\r\n", "x\r\n", "0\r\nX : a\r\n", "1\r\na\n"]) func refusedChunks(_ body: String) {
        let heard = Self.everyWay("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + body)
        #expect(heard.last?.fault?.status == 502)
    }

    @Test(arguments: [(8192, true), (8193, false)]) func statusLine(_ count: Int, _ isTaken: Bool) {
        let line = "HTTP/1.1 204 " + String(repeating: "a", count: count - 13)
        let heard = MessageListener.answers(line + "\r\n\r\n")
        #expect(isTaken ? heard.last == .end : heard.map(\.fault?.status) == [502])
    }

    /// The reason phrase is for people: it may contain anything except control characters.
    @Test func phrases() {
        let heard = Self.everyWay("HTTP/1.1 404 Nicht gefunden: é\t!\r\nContent-Length: 0\r\n\r\n")
        #expect(
            heard.first
                == .response(
                    Self.head(404, "Nicht gefunden: é\t!", [("content-length", "0")]), .length(0)))
    }
}
