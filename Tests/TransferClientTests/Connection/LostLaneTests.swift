import Glibc
import Testing
import TransferIO
import TransferModel
import TransferProtocol
import TransferTestSupport

@testable import TransferClient

@Suite struct LostLaneTests {
    /// A server that has said goodbye has nothing of what was sent behind that; one that hasn't may still be writing it.
    @Test(arguments: [true, false]) func onlyALostLaneLeavesPartsInDoubt(saysGoodbye: Bool) async throws {
        let fake = FakeServer { peer in
            peer.welcome()
            while case .message(let message)? = peer.next() {
                if case .resume(let begin) = message { peer.send(.accept(begin.id)) }
                if case .begin = message { break }
            }
            if saysGoodbye { peer.send(.goodbye(Goodbye(.shuttingDown, "The server is stopping."))) }
            // What is unread would reset the connection, and the goodbye be lost.
            shutdown(peer.wire.number, Int32(SHUT_WR))
            peer.drain()
        }
        let directory = try TemporaryDirectory()
        try Files.write(directory.path("long"), [UInt8](repeating: 7, count: 40 << 20))
        let loop = try EventLoop(name: "test")
        let pool = BlockingPool(name: "test", threads: 1)
        let address = try fake.address
        let context = RunContext(
            server: address, configuration: .patient, loop: loop, pool: pool,
            buffers: BufferPool(size: OutgoingChunk.capacity, count: 6),
            feed: UploadFeed([.path(directory.path("long"))], folder: ""))
        context.lanes.open()
        let session = ClientSession(context, number: 1)
        let ending = await session.converse(with: try address.endpoint.resolve()[0])
        #expect(ending == .lost("the server closed the connection"))
        #expect(await session.hasLostParts == !saysGoodbye)
        loop.stop()
        pool.close()
    }
}
