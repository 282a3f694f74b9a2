import Testing
import TransferHTTP

/// RFC 7239, and the fields that proxies commonly use.
@Suite struct ForwardedTests {
    private static func fields(_ fields: [(String, String)]) -> HTTPFields {
        HTTPFields(fields.map { HTTPField(name: $0.0, value: Array($0.1.utf8)) })
    }

    private static func standard(_ lines: String...) throws(HTTPFault) -> Forwarded {
        try Forwarded(fields(lines.map { ("forwarded", $0) }), .standard)
    }

    static let nodes: [(String, String?)] = [
        ("192.0.2.43", "192.0.2.43"), ("\"192.0.2.43:47011\"", "192.0.2.43"),
        ("\"[2001:db8:cafe::17]:4711\"", "2001:db8:cafe::17"),
        ("\"[::ffff:192.0.2.1]\"", "::ffff:192.0.2.1"), ("unknown", nil), ("\"_gazonk\"", nil), ("_SEVKISEK", nil),
    ]

    @Test(arguments: nodes) func addresses(_ node: String, _ address: String?) throws {
        #expect(try Self.standard("For=\(node)").address == address)
        #expect(try Self.standard("for=\"_evil\", for=\(node);proto=http;by=203.0.113.43").address == address)
    }

    @Test func lastHop() throws {
        let hop = try Self.standard(
            "for=10.0.0.1;host=evil;proto=http, for=192.0.2.60;proto=HTTPS;host=\"Example.com:8443\"")
        #expect(hop.address == "192.0.2.60" && hop.isSecure == true && hop.host == "example.com:8443")
        let lines = try Self.standard("for=10.0.0.1;host=evil", "for=192.0.2.60;proto=http")
        #expect(lines.address == "192.0.2.60" && lines.isSecure == false && lines.host == nil)
        let none = try Self.standard()
        #expect(none.address == nil && none.isSecure == nil && none.host == nil)
    }

    static let refused: [(String, Comment)] = [
        ("for=\"evil, for=1.2.3.4", "a quote that swallows the last hop"), ("for", "no value"), ("for=", "no value"),
        ("=a", "no name"), ("for=1.2.3.4;for=1.2.3.5", "twice"), ("for=1.2.3.4;", "nothing behind a semicolon"),
        ("for=1.2.3.4; by=1", "a blank"),
        ("for = 1.2.3.4", "blanks"), ("for=[::1]", "brackets without quotes"), ("for=\"[::1\"", "no end"),
        ("for=\"[1.2.3.4]\"", "no IPv6"),
        ("for=\"1.2.3.4:\"", "no port"), ("for=\"1.2.3.4:65536\"", "no port"),
        ("for=\"1.2.3.4:1x\"", "text behind the port"),
        ("for=example.com", "a name"), ("for=\"[::1]x\"", "text behind it"), ("for=\"[::1%25eth0]\"", "a zone"),
        ("for=1", "too short"),
        ("proto=ftp", "another scheme"), ("proto=\"\"", "none"), ("host=\"a/b\"", "a path"),
        ("host=\"a b\"", "a blank"),
        ("host=\"a@b\"", "a user"), ("host=\"\"", "none"),
        ("host=\"\(String(repeating: "a", count: 262))\"", "262 bytes"),
        ("for=1.2.3.4 for=1.2.3.5", "no comma"), ("for=\"\(String(repeating: "1:", count: 23))\"", "46 bytes"),
        ("nonsense, for=1.2.3.4", "malformed in front"),
    ]

    @Test(arguments: refused) func refusals(_ text: String, _ reason: Comment) {
        let fault = #expect(throws: HTTPFault.self, reason) { try Self.standard(text) }
        #expect(fault?.status == 400)
        #expect(throws: HTTPFault.self, reason) { try Self.standard(text, "for=1.2.3.4") }
    }

    @Test func customary() throws {
        let hop = try Forwarded(
            Self.fields([
                ("x-forwarded-for", "10.0.0.1, 192.0.2.60"), ("x-forwarded-proto", "http,https"),
                ("x-forwarded-host", "evil, a.example"),
                ("forwarded", "for=10.0.0.2;host=evil"),
            ]), .customary)
        #expect(hop.address == "192.0.2.60" && hop.isSecure == true && hop.host == "a.example")
        let lines = try Forwarded(
            Self.fields([("x-forwarded-for", "10.0.0.1"), ("x-forwarded-for", "2001:db8::1")]), .customary)
        #expect(lines.address == "2001:db8::1" && lines.isSecure == nil)
        #expect(try Forwarded(Self.fields([("x-forwarded-for", "1.2.3.4:80")]), .customary).address == "1.2.3.4")
        #expect(try Forwarded(Self.fields([("x-forwarded-for", "")]), .customary).address == nil)
        let ignored = try Forwarded(Self.fields([("x-forwarded-for", "1.2.3.4")]), .standard)
        #expect(ignored.address == nil, "the proxy sets another field")
    }

    /// Text that a client wrote before the proxies' entries is not a fault.
    @Test func everyHop() throws {
        let standard = try Forwarded.hops(
            Self.fields([("forwarded", "for=1.1.1.1;proto=http, for=unknown"), ("forwarded", "for=\"[::1]\";host=a")]),
            .standard)
        #expect(standard.map(\.address) == ["1.1.1.1", nil, "::1"] && standard.map(\.isSecure) == [false, nil, nil])
        let customary = try Forwarded.hops(
            Self.fields([
                ("x-forwarded-for", "name, 1.1.1.1"), ("x-forwarded-for", "2.2.2.2"), ("x-forwarded-proto", "https"),
            ]),
            .customary)
        #expect(
            customary.map(\.address) == [nil, "1.1.1.1", "2.2.2.2"] && customary.map(\.isSecure) == [true, true, true])
        let aligned = try Forwarded.hops(
            Self.fields([
                ("x-forwarded-for", "1.1.1.1, 2.2.2.2"), ("x-forwarded-host", "a, b"),
                ("x-forwarded-proto", "ws, http"),
            ]),
            .customary)
        #expect(aligned.map(\.host) == ["a", "b"] && aligned.map(\.isSecure) == [nil, false])
        #expect(try Forwarded.hops(HTTPFields(), .customary).isEmpty && Forwarded.hops(HTTPFields(), .standard).isEmpty)
    }

    @Test(arguments: [
        ("x-forwarded-for", "name"), ("x-forwarded-for", "\"1.2.3.4"), ("x-forwarded-proto", "ws"),
        ("x-forwarded-host", "a\\b"),
    ])
    func customaryRefusals(_ name: String, _ value: String) {
        #expect(throws: HTTPFault.self) { try Forwarded(Self.fields([(name, value)]), .customary) }
    }
}
