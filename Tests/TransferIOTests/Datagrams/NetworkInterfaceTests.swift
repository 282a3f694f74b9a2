import Testing

@testable import TransferIO

@Suite struct NetworkInterfaceTests {
    @Test func theLoopbackInterfaceIsThere() throws {
        let all = try NetworkInterface.all()
        let loopback = try #require(all.first { $0.address == .ipv4Loopback })
        #expect(loopback.isLoopback && loopback.index != 0 && loopback.mask == 0xFF00_0000)
        #expect(loopback.contains(.ipv4(0x7F01_0203)) && !loopback.contains(.ipv4(0x8001_0203)))
        #expect(loopback.broadcast == nil)
    }

    @Test func broadcastsGoToTheLastAddress() {
        let own = IPAddress.ipv4(0xC0A8_0105)
        #expect(NetworkInterface.broadcast(of: own, 0xFFFF_FF00) == .ipv4(0xC0A8_01FF))
        #expect(NetworkInterface.broadcast(of: own, 0xFFFF_FFFC) == .ipv4(0xC0A8_0107))
        #expect(NetworkInterface.broadcast(of: own, 0xFFFF_FFFE) == nil)
        #expect(NetworkInterface.broadcast(of: own, .max) == nil)
        #expect(NetworkInterface.broadcast(of: .ipv6Loopback, 0) == nil)
    }

    @Test func networks() {
        let interface = NetworkInterface(index: 2, address: .ipv4(0xC0A8_0105), mask: 0xFFFF_FF00)
        #expect(interface.contains(.ipv4(0xC0A8_01FE)) && !interface.contains(.ipv4(0xC0A8_0201)))
        #expect(!interface.contains(.ipv6(high: 0, low: 0xC0A8_0105)))
        let other = NetworkInterface(index: 2, address: .ipv6(high: 1, low: 2), mask: 0)
        #expect(!other.contains(.ipv6(high: 1, low: 2)) && !other.contains(.ipv4(1)))
    }
}
