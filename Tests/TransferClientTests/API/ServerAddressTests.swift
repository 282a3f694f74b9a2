import Testing
import TransferClient

@Suite struct ServerAddressTests {
    @Test(arguments: [
        ("host", "host:5288", ""), ("host:80", "host:80", ""), ("host/folder", "host:5288/folder", "folder"),
        ("host:80/a/b", "host:80/a/b", "a/b"), ("host:80/", "host:80", ""), ("host//a//b//", "host:5288/a/b", "a/b"),
        ("127.0.0.1:1", "127.0.0.1:1", ""), ("[::1]:99/x", "[::1]:99/x", "x"), ("[::1]", "[::1]:5288", ""),
        ("::1", "[::1]:5288", ""), (":80", "localhost:80", ""), ("unix:/run/t.sock", "unix:/run/t.sock", ""),
        ("host:65535", "host:65535", ""), ("host:/", "host:5288", ""), ("host:/a/b", "host:5288/a/b", "a/b"),
        ("host:80:/a", "host:80/a", "a"), ("[::1]:/x", "[::1]:5288/x", "x"), ("[::1]:99:/x", "[::1]:99/x", "x"),
        ("fe80::/x", "[fe80::]:5288/x", "x"), ("::1:/x", "[::1]:5288/x", "x"),
        ("host:/\u{301}a", "host:5288/\u{301}a", "\u{301}a"), ("unix/a", "[unix]:5288/a", "a"),
        ("host/照片", "host:5288/照片", "照片"),
        ("host/\u{301}a//\u{301}b", "host:5288/\u{301}a/\u{301}b", "\u{301}a/\u{301}b"),
    ])
    func addresses(_ text: String, _ description: String, _ folder: String) throws {
        let address = try #require(ServerAddress(text))
        #expect(address.description == description)
        #expect(address.folder == folder)
        #expect(ServerAddress(address.description) == address)
    }

    @Test(arguments: [
        "", "/", "/folder", ":/x", "host::/x", "host://a", "host:80://a", "transfr://h#code=x", "host:80:", "host:x:/a",
        "[::1]::/x", "host:", "host:x", "host:65536", "host:-1", "host:+1", "host: 1", "[::1", "[]", "[::1]x",
        "unix:", "unix:" + String(repeating: "p", count: 108), "nul\0", "[::1]:",
    ])
    func others(_ text: String) {
        #expect(ServerAddress(text) == nil)
    }
}
