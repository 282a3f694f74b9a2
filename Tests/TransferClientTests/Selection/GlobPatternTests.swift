import Testing

@testable import TransferClient

@Suite struct GlobPatternTests {
    @Test(arguments: [
        ("a.txt", "a.txt", true), ("a.txt", "b.txt", false), ("a.txt", "a.txt2", false), ("a.txt", "xa.txt", false),
        ("*.jpg", "a.jpg", true), ("*.jpg", ".jpg", true), ("*.jpg", "d/a.jpg", false), ("*.jpg", "a.JPG", false),
        ("a*", "a", true), ("a*b*c", "axxbyyc", true), ("a*b*c", "axxbyy", false), ("***", "abc", true),
        ("?.txt", "a.txt", true), ("?.txt", ".txt", false), ("?.txt", "ab.txt", false), ("a?b", "a/b", false),
        ("d/*", "d/a", true), ("d/*", "d/a/b", false), ("d/**", "d/a/b", true), ("d/**", "d", false),
        ("**", "a/b/c", true), ("**/c", "a/b/c", true), ("**/c", "c", true), ("**/c", "a/xc", false),
        ("a/**/c", "a/c", true), ("a/**/c", "a/b/c", true), ("a/**/c", "a/b/b/c", true), ("a/**/c", "a/bc", false),
        ("a/**/**/c", "a/c", true), ("a**c", "abbc", true), ("a**c", "a/c", false), ("**a", "x/a", false),
        ("[abc].txt", "b.txt", true), ("[abc].txt", "d.txt", false), ("[!abc].txt", "d.txt", true),
        ("[^abc].txt", "a.txt", false), ("[a-c0-9]", "7", true), ("[a-c0-9]", "d", false), ("[]]", "]", true),
        ("[!]]", "a", true), ("[a-]", "-", true), ("[-a]", "-", true), ("[c-a]", "b", false), ("a[/]b", "a/b", false),
        ("a[!x]b", "a/b", false), ("[a", "[a", true), ("[", "[", true), ("[]", "[]", true), ("[\\]]", "]", true),
        ("[a-\\z]", "q", true), ("[a-", "[a-", true), ("\\*", "*", true), ("\\*", "a", false), ("\\[a]", "[a]", true),
        ("a\\", "a\\", true), ("照?", "照片", true), ("[ä-ü]", "ö", true), ("é", "e\u{301}", false), ("?", "🎉", true),
    ])
    func patterns(_ pattern: String, _ path: String, _ isMatch: Bool) throws {
        let compiled = try #require(GlobPattern(pattern, isAnchored: true))
        #expect(compiled.matches(path) == isMatch, "\(pattern) on \(path)")
    }

    @Test(arguments: [
        ("*.jpg", "a/b/c.jpg", true), ("b/c", "a/b/c", true), ("b/c", "b/c", true), ("b/c", "xb/c", false),
        ("b/c", "b/c/d", false), ("**/c", "a/c", true), ("a", "b/xa", false),
    ])
    func fromAnyComponentOn(_ pattern: String, _ path: String, _ isMatch: Bool) throws {
        let compiled = try #require(GlobPattern(pattern, isAnchored: false))
        #expect(compiled.matches(path) == isMatch, "\(pattern) on \(path)")
    }

    /// Only a letter that is a single code point in upper and in lower case is compared without case.
    @Test(arguments: [
        ("*.jpg", "IMG.JPG", true), ("*.JPG", "img.jpg", true), ("straße", "STRASSE", false), ("É", "é", true),
        ("E\u{301}", "e\u{301}", true), ("É", "e\u{301}", false), ("[a-c]", "B", true), ("[A-C]", "b", true),
        ("[!a-c]", "B", false), ("[!a-c]", "D", true), ("[[:lower:]]", "X", true), ("\u{3C3}", "\u{3C2}", true),
        ("a1", "A2", false), ("d/*.O", "D/x.o", true), ("k", "\u{212A}", true), ("日", "日", true),
    ])
    func withoutCase(_ pattern: String, _ path: String, _ isMatch: Bool) throws {
        let compiled = try #require(GlobPattern(pattern, isAnchored: true))
        #expect(compiled.matches(path, ignoresCase: true) == isMatch, "\(pattern) on \(path)")
    }

    @Test(arguments: [("abc", "abc"), ("a\\*b", "a*b"), ("a*", nil), ("[a]", nil), ("?", nil), ("[", "[")])
    func theOnlyMatch(_ pattern: String, _ literal: String?) throws {
        let compiled = try #require(GlobPattern(pattern, isAnchored: true))
        #expect(compiled.literal == literal)
    }

    @Test func lengths() {
        #expect(GlobPattern("", isAnchored: true) == nil)
        #expect(GlobPattern(String(repeating: "a", count: GlobPattern.longest), isAnchored: true) != nil)
        #expect(GlobPattern(String(repeating: "a", count: GlobPattern.longest + 1), isAnchored: true) == nil)
    }

    /// A matcher that backtracks would need longer than the age of the universe.
    @Test(arguments: ["*a", "**/a", "[a-b]*a", "?*a", "**/*a"])
    func noPatternTakesForEver(_ piece: String) throws {
        let separator = piece.hasPrefix("**/") ? "/" : ""
        let pattern = Array(repeating: piece, count: 150).joined(separator: separator) + "b"
        let path = Array(repeating: "a", count: 1_000).joined(separator: separator)
        let compiled = try #require(GlobPattern(pattern, isAnchored: true))
        let matches = (compiled.matches(path), compiled.matches(path + "b"))
        #expect(matches == (false, true))
    }
}
