import Testing

@testable import TransferCLI

@Suite struct PathListTests {
    @Test(arguments: [
        ("", []), ("a", ["a"]), ("a\nb\n", ["a", "b"]), ("\n\na\n\nb", ["a", "b"]), (" a \nb", [" a ", "b"]),
        ("#a\n", ["#a"]), ("a\r\n", ["a\r"]),
    ])
    func lines(_ text: String, _ paths: [String]) {
        #expect(PathList(Array(text.utf8), isNullSeparated: false).map { String(decoding: $0, as: UTF8.self) } == paths)
    }

    @Test func nullBytes() {
        let list = PathList(Array("a\nb\0\0c".utf8), isNullSeparated: true)
        #expect(list.map { String(decoding: $0, as: UTF8.self) } == ["a\nb", "c"])
        #expect(list.map { Array($0) } == list.map { Array($0) }, "it can be gone through again")
    }

    @Test(arguments: [
        ("a.txt", "a.txt"), ("a/b.txt", "a/b.txt"), ("/a/b", "a/b"), ("./a/b", "a/b"), ("x/./a/b", "a/b"),
        ("../a/b", "a/b"), ("x/../a//b/", "a/b"), ("/x/./y/./a", "a"), (".", nil), ("x/..", nil), ("/", nil), ("", nil),
        ("a/.b", "a/.b"), ("a/...", "a/..."), ("a/\u{301}b", "a/\u{301}b"),
    ])
    func names(_ path: String, _ name: String?) { #expect(PathList.name(of: path) == name) }

    @Test(arguments: [
        ("a/b", "a/b", "a/b"), ("./a/b", "a/b", "./a/b"), ("/x/y/a/b", "a/b", "/x/y/./a/b"), ("x/ya/b", "a/b", nil),
        ("/x/y/b", "b", "/x/y/./b"), ("a", "b", nil), ("x/a", "x/y/a", nil),
    ])
    func entries(_ path: String, _ name: String, _ entry: String?) {
        #expect(PathList.entry(for: path, storedAs: name) == entry)
        if let entry { #expect(PathList.name(of: entry) == name) }
    }
}
