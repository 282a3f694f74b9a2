import Glibc
import Testing
import TransferSystem
import TransferTestSupport

@Suite struct CanonicalPathTests {
    private let home: TemporaryDirectory

    init() throws {
        home = try TemporaryDirectory()
        mkdir(home.path("a"), 0o755)
        symlink(home.path("a"), home.path("link"))
    }

    @Test(arguments: [
        ("a", "a", true), ("a/b", "a", true), ("link/b/c", "a", true), ("a/b", "link", true), ("a/../a/b", "a", true),
        ("ab", "a", false), ("a", "a/b", false), ("a/", "a", true), ("b", "a", false), ("none/b", "none", true),
        ("\u{E9}/a", "e\u{301}", false), ("\u{E9}", "e\u{301}", false),
        ("a/\u{301}b", "a", true), ("K/a", "\u{212A}", false),
        ("none/\u{301}b", "none", true),
    ])
    func isWithin(_ path: String, _ other: String, _ isWithin: Bool) {
        #expect(CanonicalPath(home.path(path)).isWithin(CanonicalPath(home.path(other))) == isWithin)
    }

    @Test func everythingIsWithinTheRoot() {
        #expect(CanonicalPath(home.path).isWithin(CanonicalPath("/")))
        #expect(CanonicalPath("none").isWithin(CanonicalPath(".")))
        #expect(!CanonicalPath("/").isWithin(CanonicalPath(home.path)))
    }
}
