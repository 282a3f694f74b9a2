import Testing
import TransferHTTP
import TransferModel
import TransferTestSupport

/// Targets in origin-form: RFC 3986, RFC 9112, section 3.2.1.
@Suite struct RequestPathTests {
    private static func path(_ target: String) throws(HTTPFault) -> RequestPath { try RequestPath(target.utf8) }

    static let known: [(String, [String], Bool)] = [
        ("/", [], true), ("/a", ["a"], false), ("/a/", ["a"], true), ("/a/b.txt", ["a", "b.txt"], false),
        ("/%61%2Db", ["a-b"], false), ("/%e6%97%A5/x%20y", ["日", "x y"], false), ("/a+b", ["a+b"], false),
        ("/%2561", ["%61"], false), ("/%252e%252e", ["%2e%2e"], false), ("/...", ["..."], false),
        ("/.a", [".a"], false),
        ("/a;b=c,d:e@f!$&'()*", ["a;b=c,d:e@f!$&'()*"], false), ("/[a]{b}|^`", ["[a]{b}|^`"], false),
        ("/a%0Ab", ["a\nb"], false), ("/%23%3F", ["#?"], false), ("/%C3%A9", ["é"], false),
        ("/e%CC%81", ["e\u{301}"], false),
    ]

    @Test(arguments: known) func paths(_ target: String, _ segments: [String], _ endsInSlash: Bool) throws {
        let path = try Self.path(target)
        #expect(path.segments.map { Array($0.utf8) } == segments.map { Array($0.utf8) })
        #expect(path.endsInSlash == endsInSlash)
        #expect(path.path.utf8.elementsEqual(segments.joined(separator: "/").utf8))
        #expect(path.query.pairs.isEmpty)
    }

    static let refused: [(String, Comment)] = [
        ("", "nothing"), ("a", "no slash"), ("*", "no path"), ("http://a/b", "absolute-form"), ("?a", "no path"),
        ("//", "an empty segment"), ("//a", "an empty segment"), ("/a//b", "an empty segment"),
        ("/a//", "an empty segment"),
        ("/.", "a dot"), ("/..", "two dots"), ("/./a", "a dot"), ("/a/../b", "two dots"), ("/a/..", "two dots"),
        ("/../", "two dots"),
        ("/%2e", "a dot"), ("/%2E%2e", "two dots"), ("/.%2e/a", "two dots"), ("/a/%2e./b", "two dots"),
        ("/%", "no digits"), ("/%4", "one digit"), ("/%4g", "no digit"), ("/a%", "no digits"),
        ("/%%41", "a percent sign"),
        ("/%u0041", "no digits"), ("/% 41", "a blank"), ("/%+1", "a sign"), ("/%00", "NUL"), ("/a%00.txt", "NUL"),
        ("/a%2fb", "a slash"), ("/a%2Fb", "a slash"), ("/..%2f", "a slash"), ("/a%5cb", "a backslash"),
        ("/a%5Cb", "a backslash"),
        ("/a\\b", "a backslash"), ("/..\\a", "a backslash"), ("/%ff", "no UTF-8"),
        ("/%c0%ae%c0%ae", "dots in too many bytes"),
        ("/%c0%af", "a slash in too many bytes"), ("/%ed%a0%80", "half a surrogate"), ("/%c3/%a9", "cut UTF-8"),
        ("/é", "no ASCII"), ("/a b", "a blank"), ("/a\tb", "a tab"), ("/a\u{7F}", "DEL"), ("/a\r\n", "a line end"),
        ("/\0", "NUL"),
        ("/a#b", "a fragment"), ("/a\"", "a quote"), ("/<a>", "angle brackets"),
    ]

    @Test(arguments: refused) func refusals(_ target: String, _ reason: Comment) {
        let fault = #expect(throws: HTTPFault.self, reason) { try Self.path(target) }
        #expect(fault?.status == 400)
    }

    @Test(arguments: [(Limits.path - 1, true), (Limits.path, true), (Limits.path + 1, false)])
    func longest(_ count: Int, _ fits: Bool) {
        for target in [
            "/" + String(repeating: "a", count: count), "/a/" + String(repeating: "%62", count: count - 2),
            "/" + String(repeating: "a", count: count) + "/",
        ] {
            if fits {
                #expect(throws: Never.self) { try Self.path(target) }
            } else {
                #expect(throws: HTTPFault(414, "The path has more than \(Limits.path) bytes.")) {
                    try Self.path(target)
                }
            }
        }
    }

    // MARK: Queries

    static let queries: [(String, [(String, String)])] = [
        ("?", []), ("?&&", []), ("?json", [("json", "")]), ("?a=b", [("a", "b")]),
        ("?a=b=c&d", [("a", "b=c"), ("d", "")]),
        ("?=b", [("", "b")]), ("?a=", [("a", "")]), ("?a%3Db=c%26d+e%2B", [("a=b", "c&d e+")]),
        ("?a=/?:@\\<>\"", [("a", "/?:@\\<>\"")]),
        ("?%E6%97%A5=%e6%9c%ac", [("日", "本")]), ("?a=..%2f", [("a", "../")]), ("?a=1&a=2", [("a", "1"), ("a", "2")]),
    ]

    @Test(arguments: queries.indices) func pairs(_ index: Int) throws {
        let (text, pairs) = Self.queries[index]
        let path = try Self.path("/x" + text)
        #expect(path.segments == ["x"])
        #expect(path.query.pairs.map(\.key) == pairs.map(\.0))
        #expect(path.query.pairs.map(\.value) == pairs.map(\.1))
    }

    static let refusedQueries: [(String, Comment)] = [
        ("?%", "no digits"), ("?a=%4", "one digit"), ("?a=%zz", "no digits"), ("?%00", "NUL"), ("?a=%00", "NUL"),
        ("?a=%ff", "no UTF-8"), ("?a b", "a blank"), ("?é", "no ASCII"), ("?a#b", "a fragment"), ("?a\u{7F}", "DEL"),
        ("?\t", "a tab"),
    ]

    @Test(arguments: refusedQueries) func queryRefusals(_ text: String, _ reason: Comment) {
        let fault = #expect(throws: HTTPFault.self, reason) { try Self.path("/" + text) }
        #expect(fault?.status == 400)
    }

    @Test(arguments: [(63, true), (64, true), (65, false)]) func mostPairs(_ count: Int, _ fits: Bool) {
        let text = Array(repeating: "a=1", count: count).joined(separator: "&")
        #expect(((try? Self.path("/?" + text)) != nil) == fits)
    }

    @Test func onlyOne() throws {
        let query = try Self.path("/?on-conflict=keep&json&a=1&a=2&e%CC%81=3").query
        #expect(try query.only("on-conflict") == "keep")
        #expect(try query.only("json")?.isEmpty == true)
        #expect(try query.only("none") == nil)
        #expect(throws: HTTPFault.self) { try query.only("a") }
        #expect(query.contains("a") && !query.contains("b"))
        #expect(!query.contains("é"), "other bytes")
    }

    // MARK: Encoding

    @Test func encoding() throws {
        #expect(PercentEncoding.path("a b/ü%.txt".utf8) == "a%20b/%C3%BC%25.txt")
        #expect(PercentEncoding.component("a/b?c&d=e+f".utf8) == "a%2Fb%3Fc%26d%3De%2Bf")
        #expect(PercentEncoding.component("AZaz09-._~".utf8) == "AZaz09-._~")
        #expect(PercentEncoding.component([0, 0x7F, 0x80, 0xFF]) == "%00%7F%80%FF")
        for scalar in UInt32(1)...0x2FF {
            guard let scalar = Unicode.Scalar(scalar), scalar != "/", scalar != "\\" else { continue }
            let name = "a\(Character(scalar))"
            #expect(
                try Self.path("/" + PercentEncoding.path(name.utf8)).segments.first?.utf8.elementsEqual(name.utf8)
                    == true)
        }
    }

    @Test(arguments: 0..<8 as Range<UInt64>) func randomTargets(_ seed: UInt64) {
        var generator = SplitMix64(seed: seed)
        let alphabet = Array("//..%%2eEfF5cC0a?&=+\\é".utf8)
        for _ in 0..<4000 {
            let count = Int.random(in: 0...16, using: &generator)
            let target =
                [0x2F] + (0..<count).map { _ in alphabet[Int.random(in: 0..<alphabet.count, using: &generator)] }
            guard let path = try? RequestPath(target) else { continue }
            #expect(
                path.segments.allSatisfy {
                    ![".", "..", ""].contains($0) && !$0.utf8.contains { [0x2F, 0x5C, 0].contains($0) }
                })
            _ = try? RequestPath(generator.bytes(count))
        }
    }
}
