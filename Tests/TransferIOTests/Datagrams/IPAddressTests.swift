import Testing

@testable import TransferIO

@Suite struct IPAddressTests {
    @Test(arguments: [
        ("192.0.2.7", "192.0.2.7"), ("::1", "::1"), ("2001:DB8::0:1", "2001:db8::1"), ("::ffff:192.0.2.7", "192.0.2.7"),
        ("0.0.0.0", "0.0.0.0"), ("::", "::"),
    ])
    func isReadAndWritten(_ text: String, _ written: String) throws {
        let address = try #require(IPAddress(text))
        #expect(address.text == written)
    }

    @Test(arguments: [
        "", "1.2.3", "1.2.3.4.5", "256.1.1.1", "01.2.3.4", "[::1]", "::1%lo", "localhost", "1.2.3.4:5", "1.2.3.4\0",
    ])
    func othersAreNone(_ text: String) {
        #expect(IPAddress(text) == nil)
    }
}
