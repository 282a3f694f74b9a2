import Testing
import TransferIO
import TransferSystem

@Suite struct PeerNetworkTests {
    private static func network(_ host: String) throws -> PeerNetwork? {
        try #require(try Endpoint.internet(host: host, port: 1).resolve().first).network
    }

    @Test(arguments: [
        ("192.0.2.1", "192.0.2.1"), ("::ffff:192.0.2.1", "192.0.2.1"),
        ("2001:db8:1:2::1", "2001:db8:1:2:ffff:ffff:ffff:ffff"),
    ])
    func areOne(a: String, b: String) throws {
        let network = try #require(try Self.network(a))
        #expect(try Self.network(b) == network)
    }

    @Test(arguments: [
        ("192.0.2.1", "192.0.2.2"), ("2001:db8:1:2::1", "2001:db8:1:3::1"), ("0.0.0.1", "0:0:0:1::"),
    ])
    func areTwo(a: String, b: String) throws {
        let network = try #require(try Self.network(a))
        #expect(try Self.network(b) != network)
    }

    @Test(arguments: ["127.0.0.1", "127.9.9.9", "::1", "::ffff:127.0.0.1"])
    func thisMachineIsNone(host: String) throws {
        #expect(try Self.network(host) == nil)
    }

    @Test func aUnixSocketIsNone() {
        #expect(SocketAddress(unixPath: "/x").network == nil)
    }
}
