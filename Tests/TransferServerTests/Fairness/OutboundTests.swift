import Testing
import TransferConnection
import TransferModel
import TransferTestSupport

@testable import TransferServer

@Suite struct OutboundTests {
    @Test(arguments: 0..<5) func bytesLeaveInOrderHoweverFewAreTaken(seed: UInt64) {
        var random = SplitMix64(seed: seed)
        var outbound = Outbound<AnswerChunk>()
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

    /// Short chunks are copied and released: each chunk would otherwise keep half a mebibyte for a few bytes.
    @Test(arguments: [(100, 0), (16 << 10, 0), (20_000, 1)]) func shortChunksAreNotHeld(
        _ size: Int, held: Int
    ) {
        var outbound = Outbound<AnswerChunk>()
        var given: [UInt8] = []
        weak var last: AnswerChunk?
        for _ in 0..<50 {
            let chunk = AnswerChunk(frames: 64 << 10)
            let body = size - 7
            _ = chunk.appendData(body) { place in
                place.initializeMemory(as: UInt8.self, repeating: 3)
                return body
            }
            #expect(chunk.count == size)
            given += chunk.filled
            outbound.append(chunk)
            last = chunk
        }
        #expect(outbound.chunks == 50 * held && (last == nil) == (held == 0))
        var taken: [UInt8] = []
        outbound.drain { bytes in
            taken += bytes
            return bytes.count
        }
        #expect(taken == given && outbound.chunks == 0)
    }

    /// The header of a data frame without its content would make a frame of what follows.
    @Test func contentThatCannotBeReadLeavesNoHeader() {
        let chunk = AnswerChunk(frames: 64 << 10)
        chunk.append([1, 2])
        #expect(throws: Failure.self) {
            _ = try chunk.appendData(1000) { (_) throws(Failure) in throw Failure(.busy, "The disk does not answer.") }
        }
        #expect(chunk.appendData(1000) { _ in 999 } == nil)
        #expect(Array(chunk.filled) == [1, 2] && chunk.contentCount == 0)
    }

    @Test func whatWasSentIsLetGoThoughItNeverRunsEmpty() {
        var outbound = Outbound<AnswerChunk>()
        outbound.append([UInt8](repeating: 1, count: 1000))
        for _ in 0..<1000 {
            var room = 900
            outbound.drain { bytes in
                let count = min(room, bytes.count)
                room -= count
                return count == 0 ? nil : count
            }
            outbound.append([UInt8](repeating: 1, count: 900))
        }
        #expect(outbound.count == 1000)
        #expect(outbound.held <= 32 << 10)
    }
}
