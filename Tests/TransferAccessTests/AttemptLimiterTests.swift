import Testing
import TransferModel
import TransferSystem

@testable import TransferAccess

@Suite struct AttemptLimiterTests {
    private let network = PeerNetwork(ipv4: 1)
    private func second(_ number: Double) -> MonotonicTime { MonotonicTime(nanoseconds: 0) + .seconds(number) }

    @Test func pausesDouble() {
        var limiter = AttemptLimiter()
        var pauses: [Double] = []
        var now = 0.0
        for _ in 0..<18 {
            limiter.fail(network, at: second(now))
            let pause = limiter.pause(for: network, at: second(now))?.seconds ?? 0
            pauses.append(pause)
            #expect(limiter.pause(for: PeerNetwork(ipv4: 2), at: second(now)) == nil)
            now += pause
            #expect(limiter.pause(for: network, at: second(now)) == nil)
        }
        #expect(pauses == [0, 0, 0, 0, 0, 1, 2, 4, 8, 16, 32, 64, 128, 256, 300, 300, 300, 300])
    }

    @Test func successAndTimeForget() {
        var limiter = AttemptLimiter()
        for _ in 0..<6 { limiter.fail(network, at: second(0)) }
        limiter.succeed(network)
        #expect(limiter.pause(for: network, at: second(0)) == nil && limiter.count == 0)
        for _ in 0..<6 { limiter.fail(network, at: second(0)) }
        limiter.fail(network, at: second(302))
        #expect(limiter.pause(for: network, at: second(302)) == nil)
    }

    @Test func memoryIsBounded() {
        var limiter = AttemptLimiter()
        for number in 0..<10_000 {
            limiter.fail(PeerNetwork(ipv4: UInt32(number)), at: second(Double(number) / 1000))
            #expect(limiter.count <= 4096)
        }
        #expect(limiter.count > 2000)
        for _ in 0..<6 { limiter.fail(PeerNetwork(ipv4: 9_999), at: second(10)) }
        #expect(limiter.pause(for: PeerNetwork(ipv4: 9_999), at: second(10)) != nil)
    }
}
