import Testing
import TransferTestSupport

@testable import TransferServer

@Suite struct OutboundTests {
    @Test(arguments: 0..<5) func bytesLeaveInOrderHoweverFewAreTaken(seed: UInt64) {
        var random = SplitMix64(seed: seed)
        var outbound = Outbound()
        var (given, taken): ([UInt8], [UInt8]) = ([], [])
        for _ in 0..<200 {
            let more = random.bytes(Int.random(in: 1...300, using: &random))
            given += more
            outbound.append(more)
            var room = Int.random(in: 0...400, using: &random)
            outbound.drain { bytes in
                let count = min(room, bytes.count)
                taken += bytes.prefix(count)
                room -= count
                return count == 0 ? nil : count
            }
            #expect(outbound.count == given.count - taken.count)
        }
        outbound.drain { bytes in
            taken += bytes
            return bytes.count
        }
        #expect(outbound.isEmpty)
        #expect(taken == given, "seed \(seed)")
    }

    @Test func whatWasSentIsLetGoThoughItNeverRunsEmpty() {
        var outbound = Outbound()
        outbound.append([UInt8](repeating: 1, count: 1000))
        for _ in 0..<1000 {
            var hasSent = false
            outbound.drain { bytes in
                defer { hasSent = true }
                return hasSent ? nil : 900
            }
            outbound.append([UInt8](repeating: 1, count: 900))
        }
        #expect(outbound.count == 1000)
        #expect(outbound.held <= 32 << 10)
    }
}
