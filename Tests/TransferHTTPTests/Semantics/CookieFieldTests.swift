import Testing

@testable import TransferHTTP

@Suite struct CookieFieldTests {
    @Test(arguments: [
        ("a=1", "1"), ("b=2; a=1", "1"), ("b=2;a=1;", "1"), ("aa=2; a=1; A=3", "1"), ("a=x=y", "x=y"), (" a = 1 ", "1"),
        // Cookies with other names are skipped, however malformed.
        ("b; =; ;; \"b;\u{7F}=\u{80}; a=1", "1"), ("b=\"x; a=1", "1"), ("b=2; b=3; a=1", "1"),
        // No session has these values.
        ("a=", ""), ("a=1; a=1", ""), ("a=1; b=2; a=", ""), ("a=\"1\"", ""), ("a=1 2", ""), ("a=1,2", ""),
        ("a=1\\2", ""), ("a=\u{E9}", ""),
    ])
    func oneIsFound(_ line: String, _ value: String) {
        #expect(CookieField.value("a", in: [Array(line.utf8)]) == value)
    }

    @Test(arguments: ["", "b=1", "A=1", "aa=1", "a", "=a", "b=a=1", "\"a\"=1"])
    func whatIsNotThere(_ line: String) {
        #expect(CookieField.value("a", in: [Array(line.utf8)]) == nil)
    }

    @Test func linesAreOneList() {
        #expect(CookieField.value("a", in: []) == nil)
        let (first, second) = (Array("b=2".utf8), Array("a=1".utf8))
        #expect(CookieField.value("a", in: [first, second]) == "1")
        #expect(CookieField.value("a", in: [second, second])?.isEmpty ?? false)
    }

    @Test func sizesAreBounded() {
        let longest = String(repeating: "x", count: CookieField.longestValue)
        #expect(CookieField.value("a", in: [Array("a=\(longest)".utf8)]) == longest)
        #expect(CookieField.value("a", in: [Array("a=\(longest)x".utf8)]) == "")
        #expect(CookieField.setting("a", to: longest + "x", seconds: 1, isSecure: true) == nil)
    }

    @Test func oneIsSetAndTakenBack() {
        #expect(
            CookieField.setting("__Host-a", to: "b_c", seconds: 60, isSecure: true)
                == "__Host-a=b_c; Path=/; Secure; HttpOnly; SameSite=Strict; Max-Age=60")
        #expect(
            CookieField.setting("a", to: "", seconds: -1, isSecure: false)
                == "a=; Path=/; HttpOnly; SameSite=Strict; Max-Age=0")
        for value in ["a;b", "a\r\nb", "\"", " ", "\u{E9}"] {
            #expect(CookieField.setting("a", to: value, seconds: 1, isSecure: true) == nil)
        }
        #expect(CookieField.setting("a b", to: "c", seconds: 1, isSecure: true) == nil)
    }
}
