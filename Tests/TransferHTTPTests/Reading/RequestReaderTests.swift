import Testing
import TransferHTTP

@Suite struct RequestReaderTests {
    private static func head(
        _ method: HTTPMethod, _ target: String, _ fields: [(String, String)], _ version: HTTPVersion = .http11
    ) -> RequestHead {
        var all = HTTPFields()
        for (name, value) in fields { all.append(name, value) }
        return RequestHead(method, target, version: version, fields: all)
    }

    /// Each framing of content, followed by the next request.
    private static let pipelined =
        "GET / HTTP/1.1\r\nHost: a\r\n\r\n" + "PUT /b HTTP/1.0\r\nContent-Length: 2\r\n\r\nxy"
        + "POST /c HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n2;e=1\r\nhi\r\n1\r\n!\r\n0\r\nT: 1\r\n\r\n"
        + "GET /d HTTP/1.0\r\n\r\n"

    private static let pipelinedSteps: [HeardMessage] = [
        .request(head(.get, "/", [("host", "a")]), .none), .end,
        .request(head(.put, "/b", [("content-length", "2")], .http10), .length(2)), .content("xy"), .end,
        .request(head(.post, "/c", [("host", "a"), ("transfer-encoding", "chunked")]), .chunked), .content("hi!"),
        .end(HTTPFields([HTTPField(name: "t", value: [0x31])])),
        .request(head(.get, "/d", [], .http10), .none), .end,
    ]

    @Test func pipelinedRequests() {
        #expect(MessageListener.everyWay(Self.pipelined) == Self.pipelinedSteps)
    }

    @Test func pipelinedRequestsCutAtEveryPairOfPositions() {
        let bytes = Array(Self.pipelined.utf8)
        for first in bytes.indices {
            for second in first..<bytes.count {
                let heard = MessageListener.requests(bytes, cutAt: [first, second])
                if heard != Self.pipelinedSteps { Issue.record("cut at \(first) and \(second): \(heard)") }
            }
        }
    }

    /// Each step has as much content as possible, within the shown bytes.
    @Test func contentLiesWhereItCame() throws {
        let text = "PUT / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\nGET"
        var reader = RequestReader()
        var (bytes, found) = (Array(text.utf8), [String]())
        while true {
            let (step, consumed) = try bytes.withUnsafeBytes { try reader.next($0) }
            switch step {
            case .needsMore:
                #expect(consumed == 0 && bytes == Array("GET".utf8) && found == ["head", "hello", "end"])
                #expect(!reader.isBetweenRequests)
                return
            case .head(_, let framing):
                #expect(framing == .chunked && !reader.isBetweenRequests)
                found.append("head")
            case .content(let range): found.append(String(decoding: bytes[range], as: UTF8.self))
            case .end(let trailers):
                #expect(trailers == HTTPFields() && reader.isBetweenRequests)
                found.append("end")
            }
            bytes.removeFirst(consumed)
        }
    }

    /// The length of the largest file is accepted, and the content that has arrived is returned.
    @Test func theLongestContent() {
        let heard = MessageListener.requests(
            "PUT / HTTP/1.1\r\nHost: a\r\nContent-Length: 9223372036854775807\r\n\r\nabc")
        guard case .request(_, let framing) = heard.first else {
            Issue.record("\(heard)")
            return
        }
        #expect(framing == .length(9_223_372_036_854_775_807) && heard.dropFirst() == [.content("abc")])
    }

    @Test(arguments: ["", "\r\n", "\r\n\r\n"]) func emptyLinesInFront(_ lines: String) {
        let request = "GET / HTTP/1.1\r\nHost: a\r\n\r\n"
        let expected: [HeardMessage] = [.request(Self.head(.get, "/", [("host", "a")]), .none), .end]
        #expect(MessageListener.everyWay(lines + request + lines + request) == expected + expected)
    }

    /// Blanks around a value do not belong to it, blanks within it do; a value may be empty, UTF-8, or have any bytes
    /// from 0x80.
    @Test func values() {
        let heard = MessageListener.everyWay(
            Array("GET / HTTP/1.1\r\nHost:a\r\nX-Y: \t b \t c\t \r\nE:\r\nE: \r\nU: é\r\nO:".utf8) + [0xFF, 0x80]
                + Array("\r\n\r\n".utf8))
        guard case .request(let head, .none) = heard.first else {
            Issue.record("\(heard)")
            return
        }
        #expect(head.fields.lines.map(\.name) == ["host", "x-y", "e", "e", "u", "o"])
        #expect(head.fields.lines.map(\.text) == ["a", "b \t c", "", "", "é", nil])
        #expect(head.fields.values("o") == [[0xFF, 0x80]])
    }

    private static let good: [(String, BodyFraming)] = [
        ("GET / HTTP/1.0\r\n\r\n", .none), ("GET / HTTP/1.0\r\nHost: a\r\n\r\n", .none),
        ("OPTIONS * HTTP/1.1\r\nHost: a\r\n\r\n", .none), ("OPTIONS / HTTP/1.1\r\nHost: a\r\n\r\n", .none),
        ("GET http://a:80/x HTTP/1.1\r\nHost: a:80\r\n\r\n", .none),
        ("GET HTTPS://EXAMPLE/x HTTP/1.1\r\nHost: example\r\n\r\n", .none),
        ("GET http://a HTTP/1.1\r\nHost: a\r\n\r\n", .none), ("GET http://a?q HTTP/1.1\r\nHost: a\r\n\r\n", .none),
        ("GET http://a/x HTTP/1.0\r\n\r\n", .none), ("get / HTTP/1.1\r\nHost: a\r\n\r\n", .none),
        ("!#$%&'*+-.^_`|~09azAZ / HTTP/1.1\r\nHost: a\r\n\r\n", .none),
        ("PUT / HTTP/1.0\r\nContent-Length: 0\r\n\r\n", .length(0)),
        ("PUT / HTTP/1.1\r\nHost: a\r\ncOnTeNt-LeNgTh:\t0 \r\n\r\n", .length(0)),
        ("PUT / HTTP/1.1\r\nHost: a\r\nTRANSFER-ENCODING: Chunked\r\n\r\n0\r\n\r\n", .chunked),
        ("PUT / HTTP/1.1\r\nHost: a\r\nExpect: 100-Continue\r\n\r\n", .none),
    ]

    @Test(arguments: good) func taken(_ text: String, _ framing: BodyFraming) {
        let heard = MessageListener.everyWay(text)
        guard case .request(_, let found) = heard.first, heard.count == 2, heard.last == .end else {
            Issue.record("\(heard)")
            return
        }
        #expect(found == framing)
    }

    @Test(arguments: [
        "a", "A.b-c_d~9", "127.0.0.1", "a:1", "a:", "a:65535", "[::1]", "[::1]:443", "[::ffff:1.2.3.4]:80",
        "%41b", "a!$&'()*+;=b", "xn--nxasmq6b",
    ]) func hosts(_ host: String) {
        let heard = MessageListener.everyWay("GET / HTTP/1.1\r\nHost: \(host)\r\n\r\n")
        #expect(heard == [.request(Self.head(.get, "/", [("host", host)]), .none), .end])
        let uri = MessageListener.requests("GET http://\(host)/ HTTP/1.1\r\nHost: \(host)\r\n\r\n")
        #expect(uri == [.request(Self.head(.get, "http://\(host)/", [("host", host)]), .none), .end])
    }
}
