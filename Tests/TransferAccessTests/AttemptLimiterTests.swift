import Testing
import TransferProtocol

@testable import TransferAccess

@Suite struct AttemptLimiterTests {
    private let group = AddressGroup.ipv4(1)
    private func second(_ number: Double) -> MonotonicTime { MonotonicTime(nanoseconds: 0) + .seconds(number) }

    @Test func pausesDouble() {
        var limiter = AttemptLimiter()
        var pauses: [Double] = []
        var now = 0.0
        for _ in 0..<18 {
            limiter.fail(group, at: second(now))
            let pause = limiter.pause(for: group, at: second(now))?.seconds ?? 0
            pauses.append(pause)
            #expect(limiter.pause(for: .ipv4(2), at: second(now)) == nil)
            now += pause
            #expect(limiter.pause(for: group, at: second(now)) == nil)
        }
        #expect(pauses == [0, 0, 0, 0, 0, 1, 2, 4, 8, 16, 32, 64, 128, 256, 300, 300, 300, 300])
    }

    @Test func successAndTimeForget() {
        var limiter = AttemptLimiter()
        for _ in 0..<6 { limiter.fail(group, at: second(0)) }
        limiter.succeed(group)
        #expect(limiter.pause(for: group, at: second(0)) == nil && limiter.count == 0)
        for _ in 0..<6 { limiter.fail(group, at: second(0)) }
        limiter.fail(group, at: second(302))
        #expect(limiter.pause(for: group, at: second(302)) == nil)
    }

    @Test func memoryIsBounded() {
        var limiter = AttemptLimiter()
        for number in 0..<10_000 {
            limiter.fail(.ipv4(UInt32(number)), at: second(Double(number) / 1000))
            #expect(limiter.count <= 4096)
        }
        #expect(limiter.count > 2000)
        for _ in 0..<6 { limiter.fail(.ipv4(9_999), at: second(10)) }
        #expect(limiter.pause(for: .ipv4(9_999), at: second(10)) != nil)
    }

    @Test func addresses() {
        let network: [UInt8] = [0x20, 1, 0xD, 0xB8, 0, 0, 0, 1]
        let one = AddressGroup(network + [0, 0, 0, 0, 0, 0, 0, 1])
        #expect(one == AddressGroup(network + [9, 9, 9, 9, 9, 9, 9, 9]) && one != AddressGroup([10, 0, 0, 1]))
        let mapped: [UInt8] = [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF]
        #expect(AddressGroup(mapped + [10, 0, 0, 1]) == .ipv4(0x0A00_0001))
        for local: [UInt8] in [[], [127, 0, 0, 1], mapped + [127, 0, 0, 9], Array(repeating: 0, count: 15) + [1]] {
            #expect(AddressGroup(local) == .local)
        }
    }
}
