import Testing
import TransferHTTP

@Suite struct MediaTypeTests {
    /// RFC 9110, section 8.3.1.
    @Test(arguments: [
        "text/html;charset=utf-8", "Text/HTML;Charset=\"utf-8\"", "text/html; charset=\"utf-8\"",
        "text/html;charset=utf-8; ",
        "text/html ; ;\tcharset=\"u\\tf-8\"",
    ]) func parameters(_ text: String) {
        let type = MediaType(text.utf8)
        #expect(type?.essence == "text/html")
        #expect(type?["charset"] == "utf-8")
        #expect(type?["boundary"] == nil)
    }

    @Test(arguments: [
        "", "text", "text/", "/html", "text /html", "text/ html", "text/html charset=utf-8", "text/html;charset",
        "text/html;charset=", "text/html;=utf-8", "text/html;charset =utf-8", "text/html;charset= utf-8",
        "text/html;a=\"",
        "text/html;a=b;A=c", "text/html;a=\"b\"c", "text/html;a=\"\u{1}\"", "text/html,text/plain", "text/html;a=\"é\"",
        "te(xt/html", "text/html/x", "text/html;a=\"b\\",
    ]) func refused(_ text: String) {
        #expect(MediaType(text.utf8) == nil)
    }

    @Test(arguments: [(15, true), (16, true), (17, false)]) func mostParameters(_ count: Int, _ fits: Bool) {
        let text = "a/b" + (0..<count).map { ";p\($0)=1" }.joined()
        #expect((MediaType(text.utf8) != nil) == fits)
    }
}

/// RFC 9110, section 12.
@Suite struct NegotiationTests {
    private static let offers = ["text/html", "application/json", "text/plain"]

    static let accepted: [([String], String?)] = [
        ([], "text/html"), ([""], "text/html"), (["*/*"], "text/html"), (["application/json"], "application/json"),
        (["Application/JSON"], "application/json"), (["text/*"], "text/html"),
        (["text/plain, text/html;q=0.9"], "text/plain"),
        (["text/plain;q=0.5", "application/json;q=0.8"], "application/json"), (["image/png"], nil),
        (["text/html;q=0, */*;q=0.1"], "application/json"),
        (["text/*;q=0.3, text/plain;q=0.7, */*;q=0.5"], "text/plain"),
        (["text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,*/*;q=0.8"], "text/html"),
        (["text/html;q=0"], nil), (["*/*;q=0"], nil), (["*/json"], nil), (["text/html;q=2, text/plain"], "text/plain"),
        (["text/html;q=0.1234, text/plain"], "text/plain"), (["nonsense, text/plain"], "text/plain"),
        (["nonsense"], "text/html"),
        (["application/json;profile=\"a,b\";q=0.2, text/plain;q=0.3"], "text/plain"),
        (["application/json;q=0.001"], "application/json"),
        (["text/html;q=0.5, application/json;q=.9"], "text/html"), (["application/json;Q=0.5"], "application/json"),
    ]

    @Test(arguments: accepted) func mediaTypes(_ lines: [String], _ type: String?) {
        #expect(Negotiation.mediaType(lines.map { Array($0.utf8) }, of: Self.offers) == type)
    }

    @Test func noOffers() {
        #expect(Negotiation.mediaType([], of: []) == nil)
        #expect(Negotiation.mediaType([Array("*/*".utf8)], of: []) == nil)
    }

    @Test(arguments: [(63, "text/plain"), (64, nil), (65, nil)]) func mostMembers(_ count: Int, _ type: String?) {
        let line = Array(repeating: "image/png", count: count).joined(separator: ",") + ",text/plain"
        #expect(Negotiation.mediaType([Array(line.utf8)], of: Self.offers) == type)
    }

    static let languages: [([String], Negotiation.Language)] = [
        ([], .english), ([""], .english), (["zh"], .chinese), (["zh-CN,zh;q=0.9,en;q=0.8"], .chinese),
        (["en-US,en;q=0.9,zh;q=0.8"], .english), (["ZH-hant-TW"], .chinese), (["fr, zh;q=0.1"], .chinese),
        (["fr"], .english), (["de-AT, en;q=0.9"], .german), (["de, zh;q=0.1"], .german), (["*"], .english),
        (["zh, en"], .chinese), (["en, zh"], .english), (["zh;q=0"], .english),
        (["en;q=0, *"], .chinese), (["en;q=0.2", "zh;q=0.3"], .chinese), (["zhx"], .english),
        (["zh;q=9, en;q=0.1"], .english),
        (["da, en-gb;q=0.8, en;q=0.7"], .english), (["*;q=0.5, zh;q=0.4"], .english),
        (["zh-CN;q=0.3, zh-TW;q=0.9, en;q=0.5"], .chinese),
        (["zh; q=0.5 , en;q=0.4"], .chinese), (["\u{7F}"], .english),
    ]

    @Test(arguments: languages) func chosenLanguages(_ lines: [String], _ language: Negotiation.Language) {
        #expect(Negotiation.language(lines.map { Array($0.utf8) }) == language)
    }
}
