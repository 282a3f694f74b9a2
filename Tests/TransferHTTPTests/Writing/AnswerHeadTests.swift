import Testing
import TransferHTTP

@Suite struct AnswerHeadTests {
    private static func bytes(
        _ status: Int, _ lines: [(String, String)], length: UInt64? = nil, before content: [UInt8] = []
    ) -> [UInt8]? {
        var head = AnswerHead(status, room: 0)
        for (name, value) in lines { head.append(name, value) }
        if let length { head.append(length: length) }
        return head.bytes(before: content)
    }

    @Test func asAnyHeadIsWritten() {
        let lines = [("HOST", "a"), ("x-a-b", "é"), ("ETag", ""), ("transfer-ENCODING", "chunked")]
        var fields = HTTPFields()
        for (name, value) in lines { fields.append(name, value) }
        for status in [100, 200, 207, 299, 460, 599] {
            let isShort = status < 200
            let written = Self.bytes(status, isShort ? lines.dropLast() : lines)
            if isShort { fields = HTTPFields(fields.lines.dropLast()) }
            #expect(written == HeadWriter.bytes(ResponseHead(status, fields: fields)), "\(status)")
            fields = HTTPFields()
            for (name, value) in lines { fields.append(name, value) }
        }
    }

    @Test func contentStandsBehindIt() {
        let written = Self.bytes(201, [("a", "b")], length: 2, before: Array("ok".utf8))
        #expect(written == Array("HTTP/1.1 201 Created\r\nA: b\r\nContent-Length: 2\r\n\r\nok".utf8))
        #expect(Self.bytes(204, []) == Array("HTTP/1.1 204 No Content\r\n\r\n".utf8))
        #expect(Self.bytes(204, [], length: 0) != nil)
    }

    @Test(arguments: [
        ("", "a"), ("a b", "a"), ("a:", "a"), ("a\r\nb", "a"), ("é", "a"), ("a\0", "a"), ("a", "b\r\nc: d"),
        ("a", "b\n"),
        ("a", "b\r"), ("a", "\0"), ("a", "\u{7F}"), ("a", "\u{1B}"), ("Content-Length", "1"),
        ("Transfer-Encoding", "gzip"),
    ]) func whatIsNotWritten(_ name: String, _ value: String) {
        #expect(Self.bytes(200, [("b", "c"), (name, value), ("d", "e")]) == nil)
    }

    @Test(arguments: [Int.min, -1, 0, 99, 600, .max]) func noStatus(_ status: Int) {
        #expect(Self.bytes(status, []) == nil)
    }

    /// The end of the content is given once, and only for answers that can have content.
    @Test func oneEnd() {
        let chunked = ("Transfer-Encoding", "chunked")
        #expect(Self.bytes(200, [chunked], length: 1) == nil)
        #expect(Self.bytes(200, [chunked, chunked]) == nil)
        #expect(Self.bytes(204, [chunked]) == nil)
        #expect(Self.bytes(100, [chunked]) == nil)
        #expect(Self.bytes(204, [], length: 1) == nil)
        #expect(Self.bytes(200, [], length: .max) == nil)
    }
}
