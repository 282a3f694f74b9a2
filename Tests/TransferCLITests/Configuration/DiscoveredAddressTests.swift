import Testing
import TransferProtocol

@testable import TransferCLI

@Suite struct DiscoveredAddressTests {
    @Test(
        arguments: [
            ("discover:nas", "nas", nil, ""), ("discover:nas/a/b/", "nas", nil, "a/b"),
            ("discover:nas:6000", "nas", 6000, ""),
            ("discover:two words:1/x", "two words", 1, "x"), ("discover:1a", "1a", nil, ""),
            ("discover:nas/a:b", "nas", nil, "a:b"), ("discover:nas:/a", "nas", nil, "a"),
            ("discover:nas:1:/a", "nas", 1, "a"),
        ] as [(String, String, UInt16?, String)])
    func whatItNames(_ text: String, _ name: String, _ port: UInt16?, _ folder: String) throws {
        let address = try #require(DiscoveredAddress(text))
        #expect(address.name.text == name && address.port == port && address.folder == folder)
    }

    /// A host or a remote named `discover`, other servers, and invalid addresses.
    @Test(arguments: [
        "discover", "discover:", "discover:5288", "discover:/folder", "discover:5288/x", "discovery:nas", "nas",
        "discover:nas:", "discover:nas:x", "discover:nas:0", "discover:nas:65536", "discover:nas:1:2", "Discover:nas",
        "discover:\u{1B}[2J",
    ]) func whatItLeavesToOthers(_ text: String) {
        #expect(DiscoveredAddress(text) == nil)
    }
}
