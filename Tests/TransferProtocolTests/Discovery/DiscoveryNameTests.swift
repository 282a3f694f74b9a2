import Testing

@testable import TransferProtocol

@Suite struct DiscoveryNameTests {
    @Test(arguments: DiscoveryDatagramTests.names + ["nas.local", "B\u{fc}ro #2", "-"]) func whatItCanBe(_ text: String)
    {
        #expect(DiscoveryName(text)?.text == text)
    }

    @Test(arguments: [
        "", "5288", "a:b", "a/b", " a", "a ", "\u{1B}[2J", "a\nb", "a\\b", "\u{202E}a", "a\u{7F}",
        String(repeating: "x", count: 65), String(repeating: "\u{e9}", count: 33),
    ]) func whatItCannotBe(_ text: String) {
        #expect(DiscoveryName(text) == nil)
    }

    @Test func bytesThatAreNotUTF8() {
        #expect(DiscoveryName([0x61, 0xFF]) == nil)
        #expect(DiscoveryName([0x61])?.text == "a")
    }

    /// One letter, or a letter and an accent: the texts are equal, but the names are different.
    @Test func namesAreBytes() {
        #expect(DiscoveryName("\u{e9}") != DiscoveryName("e\u{301}"))
        #expect(Set(["\u{e9}", "e\u{301}", "\u{e9}"].compactMap { DiscoveryName($0) }).count == 2)
    }
}
