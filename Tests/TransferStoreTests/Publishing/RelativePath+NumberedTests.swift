import Testing
import TransferPorts
import TransferModel

@testable import TransferStore

@Suite struct RelativePathNumberedTests {
    private static func letters(_ count: Int, _ letter: String = "n") -> String {
        String(repeating: letter, count: count)
    }

    @Test(
        arguments: [
            ("photo.png", 1, "photo-1.png"), ("photo.png", 9999, "photo-9999.png"), ("notes", 1, "notes-1"),
            ("a/b/photo.png", 2, "a/b/photo-2.png"), ("a.d/notes", 1, "a.d/notes-1"), (".profile", 1, ".profile-1"),
            (".bashrc", 12, ".bashrc-12"), ("a/.bashrc", 1, "a/.bashrc-1"), (".a.b", 1, ".a-1.b"),
            ("a.tar.gz", 1, "a.tar-1.gz"), ("name.", 1, "name-1."), ("..a", 1, ".-1.a"), ("...", 1, "..-1."),
            ("写真.jpg", 3, "写真-3.jpg"), ("😀.png", 1, "😀-1.png"), ("a\nb.c\nd", 1, "a\nb-1.c\nd"),
            ("photo-1.png", 1, "photo-1-1.png"), (" .x", 1, " -1.x"),
            // A combining mark forms one character with the dot before it, but the dot still begins the extension.
            ("photo.\u{301}png", 1, "photo-1.\u{301}png"), ("e\u{301}.png", 1, "e\u{301}-1.png"),
            (letters(255), 1, letters(253) + "-1"), (letters(255), 1000, letters(250) + "-1000"),
            (letters(253), 1, letters(253) + "-1"), (letters(254), 1, letters(253) + "-1"),
            (letters(251) + ".png", 1, letters(249) + "-1.png"),
            // Characters are cut as a whole: 84 of three bytes each, and 252 + 2 bytes fit.
            (letters(85, "写"), 1, letters(84, "写") + "-1"), (letters(85, "写"), 100, letters(83, "写") + "-100"),
            (letters(63, "😀") + ".x", 1, letters(62, "😀") + "-1.x"),
            ("a." + letters(252), 1, "-1." + letters(252)),
        ] as [(String, Int, String)])
    func name(_ path: String, number: Int, numbered: String) throws {
        let result = try RelativePath(path).numbered(number)
        #expect(Array(result.string.utf8) == Array(numbered.utf8))
    }

    @Test func theExtensionLeavesNoRoom() throws {
        let path = try RelativePath("a." + Self.letters(253))
        #expect(throws: RelativePath.Fault.self) { try path.numbered(1) }
    }

    @Test func thePathIsAtItsLimit() throws {
        let directories = String(repeating: Self.letters(255) + "/", count: 15)
        let path = try RelativePath(directories + Self.letters(254))
        #expect(try path.numbered(1).string.utf8.count == Limits.path)
        let deep = String(repeating: "abc/", count: 100) + String(repeating: Self.letters(240) + "/", count: 15)
        let longest = try RelativePath(deep + Self.letters(Limits.path - deep.utf8.count))
        #expect(throws: RelativePath.Fault.self) { try longest.numbered(1) }
    }
}
