import Testing
import TransferIO
import TransferModel

@testable import TransferServer

@Suite struct LinkNeighboursTests {
    private static let now = MonotonicTime(nanoseconds: 0)
    private static let lan = NetworkInterface(index: 2, address: .ipv4(0xC0A8_0105), mask: 0xFFFF_FF00)

    private static func isNear(
        _ source: IPAddress, on interface: UInt32, among interfaces: [NetworkInterface] = [lan]
    ) -> Bool {
        var neighbours = LinkNeighbours { interfaces }
        return neighbours.include(source, on: interface, at: now)
    }

    @Test func whoIsOnTheLink() {
        #expect(Self.isNear(.ipv4(0xC0A8_0107), on: 2))
        #expect(!Self.isNear(.ipv4(0xC0A8_0107), on: 3), "of another interface")
        #expect(!Self.isNear(.ipv4(0xC0A8_0207), on: 2))
        #expect(Self.isNear(.ipv6(high: 0xFE80 << 48, low: 9), on: 2))
        #expect(!Self.isNear(.ipv6(high: 0x2001_0DB8 << 32, low: 9), on: 2))
    }

    /// A process that may not read the interfaces has no neighbours.
    @Test func withoutKnowledgeNobodyIs() {
        #expect(!Self.isNear(.ipv4(0xC0A8_0107), on: 2, among: []))
    }

    @Test func aFloodIsNotLookedUpEachTime() {
        var looks = 0
        var neighbours = LinkNeighbours {
            looks += 1
            return [Self.lan]
        }
        for number in 0..<1_000 {
            _ = neighbours.include(.ipv4(UInt32(number)), on: 2, at: Self.now + .milliseconds(Int64(number)))
        }
        #expect(looks == 1)
        _ = neighbours.include(.ipv4(1), on: 2, at: Self.now + .seconds(6))
        #expect(looks == 2)
    }
}
