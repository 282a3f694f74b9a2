import Testing
import TransferHTTP

@Suite struct HeadTests {
    private static func fields(_ name: String, _ values: [String]) -> HTTPFields {
        var fields = HTTPFields()
        for value in values { fields.append(name, value) }
        return fields
    }

    private static let connections: [(HTTPVersion, [String], Bool)] = [
        (.http11, [], true), (.http11, ["close"], false), (.http11, ["Close"], false), (.http11, ["x, CLOSE"], false),
        (.http11, ["x", "close"], false), (.http11, ["keep-alive"], true), (.http11, ["keep-alive, close"], false),
        (.http11, ["closed"], true), (.http11, ["\"close\""], true), (.http10, [], false), (.http10, ["close"], false),
        (.http10, ["keep-alive"], true), (.http10, ["Keep-Alive"], true), (.http10, ["keep-alive", "close"], false),
        (.http10, ["upgrade"], false),
    ]

    /// RFC 9112, section 9.3.
    @Test(arguments: connections) func persistence(_ version: HTTPVersion, _ values: [String], _ isPersistent: Bool) {
        let fields = Self.fields("Connection", values)
        #expect(RequestHead(.get, "/", version: version, fields: fields).isPersistent == isPersistent)
        #expect(ResponseHead(200, version: version, fields: fields).isPersistent == isPersistent)
    }

    @Test func expectations() {
        let expecting = Self.fields("Expect", ["100-Continue"])
        #expect(RequestHead(.put, "/", fields: expecting).expectsContinue)
        #expect(!RequestHead(.put, "/", version: .http10, fields: expecting).expectsContinue)
        #expect(!RequestHead(.put, "/").expectsContinue)
    }

    @Test(arguments: [
        ("/", "/"), ("/a?b", "/a?b"), ("*", "*"), ("http://a", "/"), ("http://a/", "/"), ("HTTPS://a:1/b?c", "/b?c"),
        ("http://a?b", "/?b"), ("http://a?b/c", "/?b/c"), ("http://[::1]/x", "/x"), ("/http://a/b", "/http://a/b"),
    ]) func resources(_ target: String, _ resource: String) {
        #expect(RequestHead(.get, target).resource == resource)
    }

    /// RFC 9112, section 3.2.4.
    @Test func resourceOfOptions() {
        #expect(RequestHead(.options, "http://a").resource == "*")
        #expect(RequestHead(.options, "http://a/").resource == "/")
    }

    @Test func methods() {
        #expect(HTTPMethod("GET") == .get && HTTPMethod("get") != .get && HTTPMethod("PATCH") == .patch)
        for name in ["", "a b", "é", "a\r\n", "(", String(repeating: "A", count: 33)] {
            #expect(HTTPMethod(name) == nil)
        }
        #expect(HTTPMethod(String(repeating: "A", count: 32)) != nil)
    }
}
