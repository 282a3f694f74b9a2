import Testing
import TransferIO

@testable import TransferClient

@Suite struct SearchTargetsTests {
    @Test func everyLinkIsAskedOnce() {
        let lan = NetworkInterface(
            index: 2, address: .ipv4(0xC0A8_0105), mask: 0xFFFF_FF00, broadcast: .ipv4(0xC0A8_01FF))
        let second = NetworkInterface(
            index: 2, address: .ipv4(0xC0A8_0106), mask: 0xFFFF_FF00, broadcast: .ipv4(0xC0A8_01FF))
        let tunnel = NetworkInterface(index: 3, address: .ipv4(0x0A00_0001), hasMulticast: false)
        let six = NetworkInterface(index: 2, address: .ipv6(high: 0xFE80 << 48, low: 1))
        let loopback = NetworkInterface(index: 1, address: .ipv4Loopback, isLoopback: true)
        let far = NetworkInterface(index: 3, address: .ipv6(high: 1, low: 1), hasMulticast: false)
        let targets = SearchTargets.network([loopback, lan, second, tunnel, six, six, far], port: 9)
        let texts = targets.map { $0.description.prefix { $0 != "%" } }
        #expect(texts == ["127.0.0.1:9", "[::1]:9", "192.168.1.255:9", "[ff02::1"])
    }

    @Test func withoutANetworkThereIsThisMachine() {
        #expect(SearchTargets.network([], port: 9).map(\.description) == ["127.0.0.1:9", "[::1]:9"])
    }
}
