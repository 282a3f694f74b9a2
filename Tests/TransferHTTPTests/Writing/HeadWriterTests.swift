import Testing
import TransferHTTP

@Suite struct HeadWriterTests {
    private static func fields(_ lines: (String, String)...) -> HTTPFields {
        var fields = HTTPFields()
        for (name, value) in lines { fields.append(name, value) }
        return fields
    }

    private static func text(_ bytes: [UInt8]?) -> String? { bytes.map { String(decoding: $0, as: UTF8.self) } }

    @Test func requests() {
        let fields = Self.fields(("HOST", "a"), ("x-a-b", "é"), ("te", ""))
        #expect(
            Self.text(HeadWriter.bytes(RequestHead(.put, "/a?b", fields: fields)))
                == "PUT /a?b HTTP/1.1\r\nHost: a\r\nX-A-B: é\r\nTe: \r\n\r\n")
        #expect(
            Self.text(HeadWriter.bytes(RequestHead(.get, "/", version: .http10))) == "GET / HTTP/1.0\r\n\r\n")
    }

    @Test func answers() {
        #expect(Self.text(HeadWriter.bytes(ResponseHead(200))) == "HTTP/1.1 200 OK\r\n\r\n")
        #expect(
            Self.text(HeadWriter.bytes(ResponseHead(201, reason: "Da", fields: Self.fields(("Location", "/x")))))
                == "HTTP/1.1 201 Da\r\nLocation: /x\r\n\r\n")
        #expect(Self.text(HeadWriter.bytes(ResponseHead(299))) == "HTTP/1.1 299 \r\n\r\n")
        #expect(
            Self.text(HeadWriter.bytes(ResponseHead(404, version: .http10))) == "HTTP/1.0 404 Not Found\r\n\r\n")
    }

    /// Names and values that would turn one field into several, or into another message.
    private static let bad: [(String, String)] = [
        ("", "a"), ("a b", "a"), ("a:", "a"), ("a\r\nb", "a"), ("é", "a"), ("a\0", "a"), ("a", "b\r\nc: d"),
        ("a", "b\n"),
        ("a", "b\r"), ("a", "\0"), ("a", "\u{7F}"), ("a", "\u{1B}"), ("content-length", "x"), ("content-length", "-1"),
        ("transfer-encoding", "gzip"),
    ]

    @Test(arguments: bad) func whatIsNotWritten(_ name: String, _ value: String) {
        let fields = Self.fields(("host", "a"), (name, value))
        #expect(HeadWriter.bytes(RequestHead(.get, "/", fields: fields)) == nil)
        #expect(HeadWriter.bytes(ResponseHead(200, fields: fields)) == nil)
    }

    @Test func requestsThatAreNotWritten() throws {
        let host = Self.fields(("Host", "a"))
        for target in ["", "a", "*", "/a b", "/\r\n", "/é", "/#", "http://b/", "http:///"] {
            #expect(HeadWriter.bytes(RequestHead(.get, target, fields: host)) == nil, "\(target)")
        }
        #expect(HeadWriter.bytes(RequestHead(.get, "/")) == nil)
        #expect(HeadWriter.bytes(RequestHead(.get, "/", fields: Self.fields(("Host", "a"), ("Host", "a")))) == nil)
        #expect(HeadWriter.bytes(RequestHead(.get, "/", fields: Self.fields(("Host", "a"), ("Expect", "x")))) == nil)
        let connect = try #require(HTTPMethod("CONNECT"))
        #expect(HeadWriter.bytes(RequestHead(connect, "/", fields: host)) == nil)
        #expect(HeadWriter.bytes(RequestHead(.options, "*", fields: host)) != nil)
    }

    @Test func answersThatAreNotWritten() {
        for status in [Int.min, -1, 0, 99, 600, 1000, .max] { #expect(HeadWriter.bytes(ResponseHead(status)) == nil) }
        for reason in ["a\r\n", "\n", "\0"] { #expect(HeadWriter.bytes(ResponseHead(200, reason: reason)) == nil) }
        let length = Self.fields(("Content-Length", "1"))
        for status in [100, 104, 204] { #expect(HeadWriter.bytes(ResponseHead(status, fields: length)) == nil) }
        for status in [200, 304] { #expect(HeadWriter.bytes(ResponseHead(status, fields: length)) != nil) }
        let both = Self.fields(("Content-Length", "1"), ("Transfer-Encoding", "chunked"))
        #expect(HeadWriter.bytes(ResponseHead(200, fields: both)) == nil)
    }

    /// A written head is read as an equal head.
    @Test func thereAndBack() throws {
        let request = RequestHead(
            .post, "/a%20b?c=d", fields: Self.fields(("host", "a:1"), ("content-length", "0"), ("x", "\u{A0}é")))
        let bytes = try #require(HeadWriter.bytes(request))
        #expect(MessageListener.requests(bytes) == [.request(request, .length(0)), .end])
        let answer = ResponseHead(
            422, reason: "Unprocessable Content", fields: Self.fields(("etag", "\"a\""), ("content-length", "0")))
        let text = try #require(Self.text(HeadWriter.bytes(answer)))
        #expect(MessageListener.answers(text) == [.response(answer, .length(0)), .end])
    }

    /// Every status of RFC 9110 in use, and some of other documents.
    @Test func phrases() {
        let known =
            Array(200...206) + Array(300...305) + [307, 308] + Array(400...417) + [421, 422, 426] + Array(500...505)
        for status in known + [100, 101, 104, 428, 429, 431, 460, 507] {
            #expect(HTTPStatus.reason(status)?.isEmpty == false, "\(status)")
        }
        for status in [-1, 0, 99, 299, 306, 600] { #expect(HTTPStatus.reason(status) == nil) }
    }
}
