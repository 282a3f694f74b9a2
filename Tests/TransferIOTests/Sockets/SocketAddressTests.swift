import Glibc
import Testing
import TransferIO

@Suite struct SocketAddressTests {
    private static func numeric(_ host: String, _ port: UInt16 = 80) throws -> SocketAddress {
        try #require(try Endpoint.internet(host: host, port: port).resolve().first)
    }

    @Test(arguments: [
        ("127.0.0.1", AF_INET, "127.0.0.1:80", true), ("127.255.0.3", AF_INET, "127.255.0.3:80", true),
        ("192.0.2.1", AF_INET, "192.0.2.1:80", false), ("0.0.0.0", AF_INET, "0.0.0.0:80", false),
        ("::1", AF_INET6, "[::1]:80", true), ("::ffff:127.0.0.1", AF_INET6, "[::ffff:127.0.0.1]:80", true),
        ("::ffff:192.0.2.1", AF_INET6, "[::ffff:192.0.2.1]:80", false), ("::", AF_INET6, "[::]:80", false),
        ("2001:db8::127", AF_INET6, "[2001:db8::127]:80", false),
    ]) func describesItself(host: String, family: Int32, description: String, isLocal: Bool) throws {
        let address = try Self.numeric(host)
        #expect(address.family == family)
        #expect(address.port == 80)
        #expect(address.description == description)
        #expect(address.isLocal == isLocal)
    }

    @Test(arguments: [0, 1, 255, 256, 65535] as [UInt16]) func keepsThePort(port: UInt16) throws {
        #expect(try Self.numeric("127.0.0.1", port).port == port)
        #expect(try Self.numeric("::1", port).port == port)
    }

    @Test func aUnixDomainAddressIsLocalAndHasNoPort() throws {
        let address = try #require(try Endpoint.unix(path: "/x").resolve().first)
        #expect(address.family == AF_UNIX)
        #expect(address.port == nil)
        #expect(address.isLocal)
        #expect(address.description == "unix socket")
    }

    @Test func localhostIsThisMachine() throws {
        let addresses = try Endpoint.internet(host: "localhost", port: 7).resolve()
        #expect(!addresses.isEmpty)
        for address in addresses { #expect(address.isLocal && address.port == 7) }
    }

    @Test func theStarIsEveryAddress() throws {
        let hosts = try Endpoint.internet(host: "*", port: 7).resolve().map(\.description)
        #expect(hosts.contains("0.0.0.0:7"))
        #expect(Set(hosts).isSubset(of: ["0.0.0.0:7", "[::]:7"]))
    }

    /// DNS cannot express a name of this length, so no name server is needed to refuse it (RFC 1035, section 2.3.4).
    @Test func aNameThatCannotBeIsRefusedWithAReason() {
        let host = String(repeating: "a", count: 300)
        let error = #expect(throws: ResolutionError.self) { try Endpoint.internet(host: host, port: 1).resolve() }
        #expect(error?.host == host)
        #expect(error?.reason.isEmpty == false)
    }
}
