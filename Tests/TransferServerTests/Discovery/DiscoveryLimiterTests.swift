import Testing
import TransferModel
import TransferSystem

@testable import TransferServer

@Suite struct DiscoveryLimiterTests {
    private static let start = MonotonicTime(nanoseconds: 5)
    private static let one = PeerNetwork(ipv4: 1)

    private static func admitted(
        _ limiter: inout DiscoveryLimiter, _ network: PeerNetwork?, of count: Int, at now: MonotonicTime = start
    ) -> Int {
        (0..<count).count { _ in limiter.admits(network, bytes: 10, at: now) }
    }

    @Test(arguments: [one, nil]) func aNetworkHasItsShare(_ network: PeerNetwork?) {
        var limiter = DiscoveryLimiter(at: Self.start)
        for (seconds, count) in [(0, 64), (1, 20), (100, 64)] {
            let admitted = Self.admitted(&limiter, network, of: 1_000, at: Self.start + .seconds(Double(seconds)))
            #expect(admitted == count, "after \(seconds) s")
        }
    }

    /// A flood of one network takes nothing from the others.
    @Test func aFloodOfOneIsInNobodysWay() {
        var limiter = DiscoveryLimiter(at: Self.start)
        for (network, count) in [(Self.one, 64), (PeerNetwork(ipv4: 2), 64), (nil, 64)] as [(PeerNetwork?, Int)] {
            let admitted = Self.admitted(&limiter, network, of: 10_000)
            #expect(admitted == count)
        }
    }

    @Test func allTogetherHaveABound() {
        var limiter = DiscoveryLimiter(at: Self.start)
        let first = (0..<10_000).count { limiter.admits(PeerNetwork(ipv4: $0), bytes: 10, at: Self.start) }
        #expect(first == 512)
        let later = Self.start + .seconds(1)
        let second = (0..<10_000).count { limiter.admits(PeerNetwork(ipv4: $0), bytes: 10, at: later) }
        #expect(second == 500)
    }

    /// The longest datagram uses the whole allowance of one network.
    @Test func bytesCost() {
        var limiter = DiscoveryLimiter(at: Self.start)
        let longest = limiter.admits(Self.one, bytes: 65_507, at: Self.start)
        let next = limiter.admits(Self.one, bytes: 0, at: Self.start)
        #expect(longest && !next)
        #expect(DiscoveryLimiter.cost(of: 0) == 1 && DiscoveryLimiter.cost(of: 1023) == 1)
        #expect(DiscoveryLimiter.cost(of: 1024) == 2 && DiscoveryLimiter.cost(of: 65_507) == 64)
    }

    /// A sender forges addresses for ten minutes.
    @Test func memoryIsBounded() {
        var limiter = DiscoveryLimiter(at: Self.start)
        var most = 0
        for number in 0..<600_000 {
            let now = Self.start + .milliseconds(Int64(number))
            _ = limiter.admits(PeerNetwork(ipv4: UInt32(number)), bytes: number % 3_000, at: now)
            most = max(most, limiter.count)
        }
        #expect(most <= DiscoveryLimiter.mostNetworks)
        let later = limiter.admits(PeerNetwork(ipv4: .max), bytes: 1, at: Self.start + .seconds(700))
        #expect(later)
    }
}
