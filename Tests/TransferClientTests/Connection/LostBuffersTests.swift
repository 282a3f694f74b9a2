import Glibc
import Testing
import TransferIO
import TransferModel
import TransferProtocol
import TransferSystem
import TransferTestSupport

@testable import TransferClient

@Suite struct LostBuffersTests {
    /// Consecutive checks without a free buffer: the server reads nothing, so the kernel accepts no more bytes either.
    private static let looks = 5000

    /// The producer waits for a buffer while all buffers wait to be sent on the lost connection.
    @Test func aLostConnectionDoesNotWaitForItsOwnBuffers() async throws {
        let isOver = Locked(false)
        let fake = FakeServer { peer in
            peer.welcome()
            if let begin = peer.nextBegin(), begin.expectsAccept { peer.send(.accept(begin.id)) }
            while !isOver.withLock({ $0 }) { sched_yield() }
        }
        let loop = try EventLoop(name: "test")
        let pool = BlockingPool(name: "test", threads: 1)
        let buffers = BufferPool(size: OutgoingChunk.capacity, count: 2)
        var configuration = ClientConfiguration.patient
        configuration.lanes = .fixed(1)
        configuration.compression = .none
        let address = try fake.address
        let context = RunContext(
            server: address, configuration: configuration, loop: loop, pool: pool, buffers: buffers,
            feed: UploadFeed([.bytes([UInt8](repeating: 7, count: 64 << 20), name: "long")], folder: ""))
        let resolved = try address.endpoint.resolve()
        let session = ClientSession(context)
        let conversation = Task { await session.converse(with: resolved[0]) }
        var waits = 0
        while waits < Self.looks {
            // To take a buffer here would keep it from the session, which could wait for it without end.
            waits = buffers.used == 2 ? waits + 1 : 0
            await Task.yield()
        }
        isOver.withLock { $0 = true }
        guard case .lost = await conversation.value else {
            Issue.record("it did not end with its connection")
            return
        }
        // The buffers are free although the session object still exists.
        #expect(buffers.takeNow() != nil)
        withExtendedLifetime(session) {}
        loop.stop()
        pool.close()
    }
}
