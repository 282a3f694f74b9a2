import Testing
import TransferTestSupport

@testable import TransferModel

@Suite struct RelativePathTests {
    @Test(arguments: [
        "../x", "..", ".", "a/..", "a/../b", "a/../../x", "a/./b", "./a", "a/.", "/", "/etc/x", "//x", "", "a//b",
        "a/", "a/b/", "\0", "a\0b", "a/b\0", "\u{FFFD}\0", String(repeating: "n", count: 256),
        String(repeating: "n", count: 300), "a/" + String(repeating: "é", count: 128) + "/b",
        String(repeating: "ab/", count: 1_365) + "a", String(repeating: "d/", count: 128) + "x",
        String(repeating: "/", count: 100_000),
        ".transfer", ".transfer/x", ".TRANSFER/x", ".Transfer/incoming/a", ".tRaNsFeR",
    ]) func refused(_ path: String) {
        #expect(throws: RelativePath.Fault.self) { try RelativePath(path) }
    }

    /// A file system that ignores case folds more than ASCII, and some file systems ignore invisible characters.
    @Test(arguments: [
        ".tran\u{17F}fer/x", ".TRAN\u{17F}FER", ".trans\u{200C}fer/x", "\u{FEFF}.transfer", "a/.TRAN\u{17F}FER/b",
        ".tran\u{17F}fer-parts",
    ])
    func reservedInDisguise(_ path: String) {
        #expect(throws: RelativePath.Fault.self) { try RelativePath(path) }
    }

    /// Any folder can be the root of a client.
    @Test(arguments: [
        ".transfer", ".Transfer/lock", "a/.transfer", "a/.transfer/b", "a/b/.TRANSFER", ".transfer-parts",
        "a/.transfer-parts/b", ".transfer-parts-0", ".Transfer-Parts-1000/a", "a/.transfer-\u{200B}parts-77",
    ]) func reserved(_ path: String) {
        #expect(throws: RelativePath.Fault.self) { try RelativePath(path) }
    }

    /// Equal strings can be two names; their hashes differ as well, so that a client cannot fill a hash table with
    /// equal strings.
    @Test(arguments: [("\u{E9}", "e\u{301}"), ("K", "\u{212A}"), ("a;b", "a\u{37E}b")])
    func hashesAreOfBytes(_ a: String, _ b: String) throws {
        #expect(a == b)
        #expect(try RelativePath(a) != RelativePath(b))
        #expect(try Set([RelativePath(a), RelativePath(b)]).count == 2)
        #expect(try RelativePath(a).hashValue != RelativePath(b).hashValue)
        #expect(PathKey(a) != PathKey(b) && PathKey(a).hashValue != PathKey(b).hashValue)
        #expect(PathDigest(a) != PathDigest(b) && PathDigest(a) == PathDigest(String(a)))
        #expect((PathKey(a) < PathKey(b)) != (PathKey(b) < PathKey(a)))
    }

    @Test(arguments: [
        "a", "photo.png", "a/b/c", "写真/夏.jpg", "😀", "line\nbreak", "\"quoted\" 'name'", "two  spaces ", " ",
        ".transferx", ".transfe", ".transfer.txt", "transfer", ".transfer-part", "a/.transfer-parts.txt",
        ".transfer-parts-", ".transfer-parts-1x",
        "..a", "a..",
        "...",
        ".hidden", "back\\slash", "..\\x", "C:\\x", "~", "-rf", "a\u{301}", "a/\u{301}b", "%2e%2e/x", "\u{1B}[2J",
        String(repeating: "n", count: 255), String(repeating: "ab/", count: 127) + "ab",
        String(repeating: String(repeating: "n", count: 255) + "/", count: 15) + String(repeating: "n", count: 255),
    ]) func accepted(_ path: String) throws {
        #expect(Array(try RelativePath(path).string.utf8) == Array(path.utf8))
    }

    @Test func theLongestAndTheDeepest() throws {
        let longest =
            String(repeating: String(repeating: "n", count: 255) + "/", count: 15)
            + String(repeating: "n", count: 255)
        #expect(longest.utf8.count == Limits.path)
        #expect(throws: Never.self) { try RelativePath(longest) }
        #expect(throws: RelativePath.Fault.self) { try RelativePath("a/" + longest) }
        let deepest = [String](repeating: "d", count: Limits.pathDepth).joined(separator: "/")
        #expect(throws: Never.self) { try RelativePath(deepest) }
        #expect(throws: RelativePath.Fault.self) { try RelativePath(deepest + "/d") }
    }

    @Test(
        arguments: [
            ("a", "a", nil, ["a"]), ("a/b.c", "b.c", "a", ["a", "b.c"]), ("a/b/c", "c", "a/b", ["a", "b", "c"]),
            // A combining character after the slash forms one Swift character with it, but the slash still separates
            // names.
            ("a/\u{301}b", "\u{301}b", "a", ["a", "\u{301}b"]),
            (
                "\u{1F468}/\u{200D}x/\u{FE0F}", "\u{FE0F}", "\u{1F468}/\u{200D}x",
                ["\u{1F468}", "\u{200D}x", "\u{FE0F}"]
            ),
        ] as [(String, String, String?, [String])])
    func parts(_ string: String, name: String, parent: String?, components: [String]) throws {
        let path = try RelativePath(string)
        #expect(Array(path.name.utf8) == Array(name.utf8))
        #expect(path.parent.map { Array($0.string.utf8) } == parent.map { Array($0.utf8) })
        #expect(path.components.map { Array($0.utf8) } == components.map { Array($0.utf8) })
    }

    /// Linux compares names by their bytes; two names must not count as one place.
    @Test func canonicallyEquivalentPathsAreTwo() throws {
        let composed = try RelativePath("\u{E9}/x")
        let decomposed = try RelativePath("e\u{301}/x")
        #expect(composed.string == decomposed.string)
        #expect(composed != decomposed)
        #expect(Set([composed, decomposed]).count == 2)
        #expect(composed == (try RelativePath("\u{E9}/x")))
        #expect(Set([composed, try RelativePath("\u{E9}/x")]).count == 1)
    }

    private static let batch = TrashBatch(at: 1_767_225_600_000_000_000, number: 1)

    /// The longest and deepest paths are longer and deeper in the trash, and are still read.
    @Test(arguments: OddNames.paths) func whatIsWrittenDownIsRead(_ text: String) throws {
        let path = try RelativePath(text)
        let place = RelativePath.trash(Self.batch, path)
        for path in [path, place] { #expect(RelativePath(stored: path.string) == path) }
        for path in [path, place] { #expect(RelativePath(own: path.string) == path) }
        #expect(place.below(.trash(Self.batch, nil)) == path)
        #expect(place.string.utf8.count <= RelativePath.mostTrashBytes)
    }

    @Test func theServersOwnFoldersAreReadByItself() throws {
        let mail = RelativePath.mail(.random())
        for path in [.trashFolder, .mailFolder, mail, .trash(Self.batch, nil)] as [RelativePath] {
            #expect(RelativePath(own: path.string) == path)
        }
        for name in [RelativePath.reservedName, RelativePath.partsName] {
            #expect(RelativePath(own: name)?.string == name)
        }
        #expect(RelativePath(mail: mail.string) == mail)
        #expect(RelativePath(stored: RelativePath.trash(Self.batch, nil).string) == .trash(Self.batch, nil))
    }

    @Test(arguments: [
        "", "/", "/a", "a/", "a//b", ".", "..", "a/..", "../a", "a\0", String(repeating: "n", count: 256),
    ]) func whatIsNoPathIsNotReadEither(_ text: String) {
        #expect(RelativePath(own: text) == nil && RelativePath(stored: text) == nil)
        #expect(RelativePath(stored: RelativePath.trash(Self.batch, nil).string + "/" + text) == nil)
    }

    @Test(arguments: [
        ".transfer", ".transfer/trash", ".transfer/trash/x", ".transfer/trash/x/a", ".transfer/mail", ".transfer/lock",
        ".transfer/trash/2026-01-01T00-00-00Z-00000001/.transfer",
        ".transfer/trash/2026-01-01T00-00-00Z-00000001/a/../b", ".transfer/trash/2026-01-01T00-00-00Z-000000012/a",
    ]) func onlyPlacesInTheTrashAreAmongWhatIsStored(_ text: String) {
        #expect(RelativePath(stored: text) == nil)
    }

    @Test func renamed() throws {
        #expect(try RelativePath("a").renamed("b").string == "b")
        #expect(try RelativePath("a/b/c").renamed("d").string == "a/b/d")
        #expect(try RelativePath("a/\u{301}b").renamed("c").string == "a/c")
        for name in ["", "..", "/", String(repeating: "n", count: 256), "x\0"] {
            #expect(throws: RelativePath.Fault.self) { try RelativePath("a/b").renamed(name) }
        }
        #expect(throws: RelativePath.Fault.self) { try RelativePath("a").renamed(".transfer") }
    }

    @Test func fromBytes() throws {
        #expect(try RelativePath(utf8: Array("a/é".utf8)).string == "a/é")
        for bytes in [[0xFF], [0x61, 0x2F, 0xC0, 0xAE, 0xC0, 0xAE], [0xC3]] as [[UInt8]] {
            #expect(throws: RelativePath.Fault.self) { try RelativePath(utf8: bytes) }
        }
    }

    @Test func descriptionIsSafeToShow() throws {
        #expect(try RelativePath("a\u{1B}[2J/b\nc").description == "a\\u{1b}[2J/b\\nc")
    }

    @Test func faultsSayWhy() {
        #expect(throws: RelativePath.Fault(message: "The path is empty.")) { try RelativePath("") }
        #expect(throws: RelativePath.Fault(message: "The path is absolute.")) { try RelativePath("/etc/x") }
        #expect(throws: RelativePath.Fault(message: "The path contains a NUL byte.")) { try RelativePath("a\0b") }
        for path in [RelativePath.undecodable, "a/\(RelativePath.undecodable)"] {
            #expect(throws: RelativePath.Fault(message: "The path is not UTF-8.")) { try RelativePath(path) }
        }
        #expect(throws: RelativePath.Fault(message: "A path component has 256 bytes; the limit is 255.")) {
            try RelativePath("a/" + String(repeating: "n", count: 256))
        }
    }

    @Test func randomTextsNeverTrapAndNeverEscape() {
        var generator = SplitMix64(seed: 4)
        let alphabet = Array("/.\\ab\u{301}\0é😀".unicodeScalars)
        for _ in 0..<5_000 {
            var text = String.UnicodeScalarView()
            for _ in 0..<Int.random(in: 0...12, using: &generator) {
                text.append(alphabet.randomElement(using: &generator) ?? "a")
            }
            guard let path = try? RelativePath(String(text)) else { continue }
            let parts = path.components.map { Array($0.utf8) }
            #expect(Array(parts.joined(separator: [UInt8(ascii: "/")])) == Array(path.string.utf8))
            #expect(parts.allSatisfy { !$0.isEmpty && $0 != Array(".".utf8) && $0 != Array("..".utf8) })
            #expect(parts.allSatisfy { !$0.contains(0) && !$0.contains(UInt8(ascii: "/")) })
            #expect(parts.last == Array(path.name.utf8))
        }
    }
}
