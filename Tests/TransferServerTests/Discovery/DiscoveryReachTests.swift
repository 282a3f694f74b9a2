import Testing
import TransferIO
import TransferModel

@testable import TransferServer

@Suite struct DiscoveryReachTests {
    private static let lan = IPAddress.ipv4(0xC0A8_0105)
    private static let any4 = IPAddress.ipv4(0)
    private static let any6 = IPAddress.ipv6(high: 0, low: 0)
    private static let global6 = IPAddress.ipv6(high: 0x2001_0DB8 << 32, low: 5)

    private static func reach(_ places: [(IPAddress, UInt16)]) -> DiscoveryReach {
        DiscoveryReach(listening: places.map { SocketAddress($0.0, port: $0.1) })
    }

    @Test func whoeverListensHereOnlyAnswersHereOnly() {
        let reach = Self.reach([(.ipv4Loopback, 5288), (.ipv6Loopback, 5288)])
        #expect(reach.usualPlaces.map(\.description) == ["127.0.0.1:5288", "[::1]:5288"])
        #expect(reach.ports(at: .ipv4Loopback) == [5288] && reach.ports(at: Self.lan).isEmpty)
    }

    /// Broadcasts reach only sockets that are bound to all addresses.
    @Test func whatOthersReachIsBoundToAll() {
        let one = Self.reach([(Self.lan, 5288), (.ipv4Loopback, 5288), (Self.global6, 1), (.ipv6Loopback, 2)])
        #expect(one.usualPlaces.map(\.description) == ["0.0.0.0:5288", "[::]:1", "[::1]:2"])
        let all = Self.reach([(Self.any4, 5288), (Self.any6, 5288), (Self.any4, 5288)])
        #expect(all.usualPlaces.map(\.description) == ["0.0.0.0:5288", "[::]:5288"])
    }

    @Test func onlyWhatIsListenedOnIsTold() {
        let reach = Self.reach([(Self.lan, 5288), (Self.lan, 80), (.ipv4Loopback, 9), (Self.lan, 80)])
        #expect(reach.ports(at: Self.lan) == [5288, 80] && reach.ports(at: .ipv4Loopback) == [9])
        #expect(reach.ports(at: .ipv4(1)).isEmpty && reach.ports(at: Self.global6).isEmpty)
        let all = Self.reach([(Self.any4, 7), (Self.lan, 8)])
        #expect(all.ports(at: Self.lan) == [7, 8] && all.ports(at: .ipv4(1)) == [7])
    }

    @Test func unixSocketsAreNobodys() {
        let reach = DiscoveryReach(listening: [SocketAddress(unixPath: "/x")])
        #expect(reach.usualPlaces.isEmpty)
    }
}
