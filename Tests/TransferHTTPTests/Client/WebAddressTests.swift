import Testing
import TransferHTTP

@Suite struct WebAddressTests {
    struct Case: CustomTestStringConvertible {
        let text: String
        let host: String
        let port: UInt16
        let path: String
        let shown: String

        var testDescription: String { text }
    }

    @Test(arguments: [
        Case(text: "https://nas.local", host: "nas.local", port: 443, path: "/", shown: "https://nas.local/"),
        Case(text: "HTTPS://NAS:8443/a/", host: "nas", port: 8443, path: "/a/", shown: "https://nas:8443/a/"),
        Case(text: "http://[::1]:80/x", host: "::1", port: 80, path: "/x", shown: "http://[::1]/x"),
        Case(text: "https://h:443/a%20b/", host: "h", port: 443, path: "/a%20b/", shown: "https://h/a%20b/"),
        Case(text: "https://h/a b/é", host: "h", port: 443, path: "/a%20b/%C3%A9", shown: "https://h/a%20b/%C3%A9"),
        Case(text: "https://me:pa%3Ass@h/f/", host: "h", port: 443, path: "/f/", shown: "https://h/f/"),
    ])
    func reads(_ wanted: Case) throws {
        let web = try #require(WebAddress(wanted.text))
        #expect(web.host == wanted.host && web.port == wanted.port && web.path == wanted.path)
        #expect("\(web)" == wanted.shown)
        #expect(WebAddress("\(web)")?.path == web.path)
    }

    @Test(arguments: [
        "ftp://h/", "https://", "https:///a", "https://h:0x1/", "https://h:65536/", "https://h/?q", "https://h/#f",
        "https://h/a/../b", "https://h/./", "https://h//a", "https://h/%", "https://h/a%2Fb", "https://me@h/",
        "nas.local/a",
        "https://me:\u{1}@h/", "https://me:pass@/", "https://a b/",
    ])
    func refuses(_ text: String) {
        #expect(WebAddress(text) == nil)
    }

    @Test func passwordsAreForTheServerAlone() throws {
        let web = try #require(WebAddress("https://Aladdin:open%20sesame@h/"))
        #expect(web.credentials?.authorization == "Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ==")
        #expect(!"\(web)".contains("sesame"))
        #expect(web.below("a b").credentials == web.credentials)
        #expect(web.below("a b/c").path == "/a%20b/c/")
        #expect(web.below("").path == "/")
    }

    @Test(arguments: [
        ("/files/1", WebAddress.Reference.target("/files/1")), ("1", .target("/up/1")),
        ("./1?x=2", .target("/up/1?x=2")),
        ("../1", .target("/1")), ("../../1", .target("/1")), ("/a/../b/./c", .target("/b/c")),
        ("?t=1", .target("/up/?t=1")),
        ("", .target("/up/")), ("/a#f", .target("/a")), ("https://h:8443/z", .target("/z")),
        ("HTTPS://H:8443", .target("/")), ("//h:8443/z", .target("/z")), ("/a/..", .target("/")),
        ("http://h:8443/z", .downgrade), ("http://h/z", .downgrade), ("https://h/z", .otherOrigin),
        ("https://other:8443/z", .otherOrigin), ("//other/z", .otherOrigin), ("https://me:p@other/", .otherOrigin),
        ("mailto:me", .otherOrigin), ("/a b", .malformed), ("https://", .malformed), ("/\u{E9}", .malformed),
    ])
    func resolves(_ text: String, _ wanted: WebAddress.Reference) throws {
        let web = try #require(WebAddress("https://me:p@h:8443/up/"))
        #expect(web.resolve(Array(text.utf8), from: "/up/") == wanted)
    }

    @Test func retriesWaitAsTheServerSays() {
        func seconds(_ value: String) -> Int64? {
            RetryAfter(HTTPFields([HTTPField(name: "Retry-After", value: Array(value.utf8))]))?.seconds(
                now: 784_111_770)
        }
        #expect(seconds("120") == 120)
        #expect(seconds("Sun, 06 Nov 1994 08:49:37 GMT") == 7)
        #expect(seconds("Sun, 06 Nov 1994 08:49:20 GMT") == 0)
        #expect(seconds("soon") == nil && seconds("-1") == nil && seconds("99999999999999999999") == nil)
        #expect(RetryAfter(HTTPFields()) == nil)
    }
}
