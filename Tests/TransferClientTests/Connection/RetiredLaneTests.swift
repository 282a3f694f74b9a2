import Testing
import TransferIO
import TransferModel
import TransferProtocol
import TransferSystem
import TransferTestSupport

@testable import TransferClient

@Suite struct RetiredLaneTests {
    private static let count = 64

    /// A lane that is retired completes the uploads that it has begun, says goodbye, and leaves the rest to other
    /// lanes.
    @Test func aLaneTooManyEndsWhatItHasBegun() async throws {
        let (hasBegun, isRetired) = (Gate(), Gate())
        let stored = Locked(0)
        let farewells = Locked(0)
        let fake = FakeServer { peer in
            peer.welcome()
            var begin = peer.nextBegin()
            hasBegun.put([])
            _ = isRetired.take()
            while let arrival = peer.next() {
                switch arrival {
                case .message(.begin(let next)): begin = next
                case .message(.end(let end)):
                    guard let begin else { return }
                    stored.withLock { $0 += 1 }
                    let digest = end.digest
                    peer.send(
                        .result(
                            UploadResult(
                                id: begin.id, code: .committed, isDurable: true, size: end.size, digest: digest)))
                case .message(.goodbye): farewells.withLock { $0 += 1 }
                case .message, .data: break
                }
            }
        }
        let loop = try EventLoop(name: "test")
        let pool = BlockingPool(name: "test", threads: 1)
        let content = [UInt8](repeating: 7, count: 1 << 20)
        let feed = UploadFeed((0..<Self.count).map { Upload.bytes(content, name: "\($0)") }, folder: "")
        let address = try fake.address
        let context = RunContext(
            server: address, configuration: .patient, loop: loop, pool: pool,
            buffers: BufferPool(size: OutgoingChunk.capacity, count: 6), feed: feed)
        context.lanes.open()
        let resolved = try address.endpoint.resolve()
        let session = ClientSession(context, number: 1)
        let conversation = Task { await session.converse(with: resolved[0]) }
        await hasBegun.wait()
        await session.retire()
        isRetired.put([])
        #expect(await conversation.value == .complete)
        #expect(await session.takeUnacknowledged().isEmpty)
        var left = 0
        while case .upload? = feed.next() { left += 1 }
        #expect(left > 0)
        #expect(left + stored.withLock { $0 } == Self.count)
        #expect(farewells.withLock { $0 } == 1)
        loop.stop()
        pool.close()
    }
}
