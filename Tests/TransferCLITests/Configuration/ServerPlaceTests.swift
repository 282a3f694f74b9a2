import Testing
import TransferTestSupport

@testable import TransferCLI

@Suite struct ServerPlaceTests {
    struct Row: Sendable, CustomTestStringConvertible {
        let text: String
        let server: String
        let path: String
        var target: String?

        var testDescription: String { text }
    }

    @Test(arguments: [
        Row(text: "home:", server: "home:", path: "/", target: "home:"),
        Row(text: "home:/", server: "home:/", path: "/", target: "home:/"),
        Row(text: "home:/a/b", server: "home:/", path: "a/b"), Row(text: "home:/a/", server: "home:/", path: "a/"),
        Row(text: "home:a", server: "home:/", path: "a", target: "home:/a"),
        Row(text: "home:a:b/c", server: "home:/", path: "a:b/c", target: "home:/a:b/c"),
        Row(text: "home:x:/y", server: "home:/", path: "x:/y", target: "home:/x:/y"),
        Row(text: "home:~", server: "home:/", path: "/", target: "home:/"),
        Row(text: "home:~/a", server: "home:/", path: "a", target: "home:/a"),
        Row(text: "home:~a", server: "home:/", path: "~a", target: "home:/~a"),
        // A combining letter forms one character with the sign before it.
        Row(text: "home:\u{301}a", server: "home:/", path: "\u{301}a", target: "home:/\u{301}a"),
        Row(text: "home:/\u{301}a", server: "home:/", path: "\u{301}a"),
        Row(text: "home:/a\u{301}/é", server: "home:/", path: "a\u{301}/é"),
        // A number after the colon is a port, even if a remote has the name before the colon.
        Row(text: "home:5288", server: "home:5288", path: "/"),
        Row(text: "home:5288/a", server: "home:5288", path: "a"),
        Row(text: "nas:5288#code=x", server: "nas:5288#code=x", path: "/"),
        Row(text: "home:99999/a", server: "home:99999", path: "a"),
        Row(text: "nas:5288:/a", server: "nas:5288:/", path: "a"),
        Row(text: "nas:5288:x", server: "nas:/", path: "5288:x", target: "nas:/5288:x"),
        Row(text: "nas.local:/a", server: "nas.local:/", path: "a"),
        Row(text: "nas.local:", server: "nas.local:/", path: "/", target: "nas.local:/"),
        Row(text: "192.0.2.2:/a", server: "192.0.2.2:/", path: "a"),
        Row(text: "[::1]:/a", server: "[::1]:/", path: "a"), Row(text: "[::1]:5288/a", server: "[::1]:5288", path: "a"),
        Row(text: "[::1]:5288:/a", server: "[::1]:5288:/", path: "a"),
        Row(text: "[::1]:a", server: "[::1]:/", path: "a", target: "[::1]:/a"),
        Row(text: "[fe80::1%eth0]:/a", server: "[fe80::1%eth0]:/", path: "a"),
        Row(text: "fe80::1:/a", server: "fe80::1:/", path: "a"), Row(text: "fe80::1/a", server: "fe80::1", path: "a"),
        Row(text: "unix:/run/x", server: "unix:/run/x", path: "/"),
        Row(text: "unix:", server: "unix:", path: "/"),
        Row(text: "https://h/a/", server: "https://h/a/", path: "/"),
        Row(text: "ftp://h/a", server: "ftp://h/a", path: "/"),
        Row(text: "transfer://h/a%20b/", server: "transfer://h", path: "a b"),
        Row(text: "transfer://h:1", server: "transfer://h:1", path: "/"),
        Row(text: "transfer://h/%zz", server: "transfer://h/%zz", path: "/"),
        Row(text: "discover:nas", server: "discover:nas", path: "/"),
        Row(text: "discover:nas/a", server: "discover:nas", path: "a"),
        Row(text: "discover:nas:/a", server: "discover:nas", path: "a", target: "discover:nas/a"),
        Row(text: "discover:two words:1/a", server: "discover:two words:1", path: "a"),
        Row(text: "discover:/a", server: "discover:/", path: "a"),
    ]) func isOnAServer(_ row: Row) throws {
        let place = try #require(ServerPlace(row.text))
        let target = row.target ?? row.text
        #expect(Array(place.server.utf8) == Array(row.server.utf8))
        #expect(Array(place.path.utf8) == Array(row.path.utf8))
        #expect(Array(place.target.utf8) == Array(target.utf8), "\(place.target)")
    }

    /// Every accepted text denotes the same place when its canonical form is read again.
    @Test func targetsAreReadAgain() {
        var generator = SplitMix64(seed: 7)
        let parts = [
            "a", "home", "5288", "::1", ":", ":", "/", "/", "[", "]", "~", ".", "-", "@", "#", "\u{301}", "é", " ",
            "discover:", "unix:", "transfer://",
        ]
        for _ in 0..<20_000 {
            let text = (0..<Int.random(in: 1...7, using: &generator)).map { _ in
                parts[Int.random(in: 0..<parts.count, using: &generator)]
            }.joined()
            guard let place = ServerPlace(text) else { continue }
            let again = ServerPlace(place.target)
            #expect(again.map { Array($0.path.utf8) } == Array(place.path.utf8), "\(text.debugDescription)")
            #expect(again.map { Array($0.target.utf8) } == Array(place.target.utf8), "\(text.debugDescription)")
        }
    }

    @Test func aLinkKeepsItsKey() throws {
        let key = String(repeating: "A", count: 43)
        let place = try #require(ServerPlace("transfer://h:1/a/b#key=\(key)"))
        #expect(place.server == "transfer://h:1#key=\(key)" && place.path == "a/b")
        #expect(place.target == "transfer://h:1/a/b#key=\(key)")
        #expect(place.beside("c") == "transfer://h:1/c#key=\(key)")
    }

    @Test(arguments: [
        "", "-", "a", "/", "a/b", "./a:b", "a/b:c", "/a:b", ":a", ":5288", "::1", "[::1]", "[::1]/a", "[a:b",
        "Screenshot at 12:30:15.png", "é:a", "e\u{301}:a", "a\u{301}:/b", "-x:a", "a b:/c", "me@nas:/x", "\u{1B}[2J:/x",
    ]) func isHere(_ text: String) {
        #expect(ServerPlace(text) == nil)
    }

    @Test(arguments: [
        ("home:", "home:/a", true), ("home:a", "home:/b", true), ("nas.local:/a", "NAS.local:5288/b", true),
        ("[::1]:/a", "[::1]:5288/b", true), ("home:/a", "nas:/a", false), ("home:/a", "home:5288/a", false),
        ("nas.local:1/a", "nas.local:2/a", false),
    ]) func oneServerHasOneName(_ first: String, _ second: String, _ areOne: Bool) throws {
        let names = try [first, second].map { try #require(ServerPlace($0)).serverName }
        #expect((names[0] == names[1]) == areOne, "\(names)")
    }
}
