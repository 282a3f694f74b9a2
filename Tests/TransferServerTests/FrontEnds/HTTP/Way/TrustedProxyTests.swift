import Testing
import TransferIO

@testable import TransferServer

@Suite struct TrustedProxyTests {
    @Test(arguments: [
        ("192.0.2.7", "192.0.2.7", true), ("192.0.2.7", "192.0.2.8", false), ("192.0.2.0/24", "192.0.2.255", true),
        ("192.0.2.0/24", "192.0.3.0", false), ("192.0.2.7/24", "192.0.2.9", true), ("0.0.0.0/0", "203.0.113.1", true),
        ("0.0.0.0/0", "::1", false), ("192.0.2.7", "::ffff:192.0.2.7", true), ("192.0.2.7/32", "192.0.2.7", true),
        ("2001:db8::/32", "2001:db8:ffff::1", true), ("2001:db8::/32", "2001:db9::1", false),
        ("2001:db8::/64", "2001:db8::ffff:1", true), ("2001:db8::/127", "2001:db8::1", true),
        ("2001:db8::/127", "2001:db8::2", false), ("::/0", "2001:db8::1", true), ("::1/128", "::1", true),
        ("::1", "::2", false), ("::ffff:192.0.2.7", "192.0.2.7", true), ("unix", "127.0.0.1", false),
    ])
    func isAskedFor(_ text: String, _ address: String, _ isTrusted: Bool) throws {
        let proxy = try #require(TrustedProxy(text))
        #expect(try proxy.contains(#require(IPAddress(address))) == isTrusted)
    }

    @Test(arguments: [
        "", "/", "/24", "192.0.2.0/", "192.0.2.0/33", "192.0.2.0/-1", "192.0.2.0/+1", "::/129",
        "::/1000000000000000000000",
        "192.0.2.0/24/8", "localhost", "unix:", "UNIX", "unix/1", "::ffff:192.0.2.0/120", "192.0.2.7:80",
    ])
    func othersAreNone(_ text: String) {
        #expect(TrustedProxy(text) == nil)
    }
}
