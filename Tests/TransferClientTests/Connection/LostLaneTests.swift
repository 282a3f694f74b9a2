import Glibc
import Synchronization
import Testing
import TransferIO
import TransferModel
import TransferProtocol
import TransferSystem
import TransferTestSupport

@testable import TransferClient

@Suite struct LostLaneTests {
    /// A server that sent `goodbye` has stored none of the parts sent after it; a server that did not may still be
    /// storing them.
    @Test(arguments: [true, false]) func onlyALostLaneLeavesPartsInDoubt(saysGoodbye: Bool) async throws {
        let fake = FakeServer { peer in
            peer.welcome()
            while case .message(let message)? = peer.next() {
                if case .resume(let begin) = message { peer.send(.accept(begin.id)) }
                if case .begin = message { break }
            }
            if saysGoodbye { peer.send(.goodbye(Goodbye(.shuttingDown, "The server is stopping."))) }
            // Unread bytes would reset the connection, and the goodbye would be lost.
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

    /// A server may have received a part on a lane that was lost before any answer, and then keeps the part for newer
    /// connections. The client asks again on a newer connection.
    @Test func aPartOfAnUnansweredLaneIsAskedForOnANewerConnection() async throws {
        let parts = KeptParts()
        let late: @Sendable (FakeServer.Peer) -> Void = { peer in
            nonisolated(unsafe) let peer = peer
            onThread {
                parts.firstHasEnded.wait()
                peer.welcome()
                parts.serve(peer, isOlder: false)
            }
        }
        let fake = FakeServer(
            { peer in
                nonisolated(unsafe) let peer = peer
                onThread {
                    peer.welcome()
                    parts.serve(peer, isOlder: true)
                    parts.firstHasEnded.open()
                }
            },
            { peer in
                guard let begin = peer.nextBegin(), peer.nextEnd() != nil else { return }
                parts.kept.withLock { $0 = begin.scope }
                peer.wire.cut()
                parts.secondHasEnded.open()
            }, late, late, late, late)
        let directory = try TemporaryDirectory()
        try Files.write(directory.path("long"), [UInt8](repeating: 7, count: 40 << 20))
        let outcome = try await fake.address.outcome([.path(directory.path("long"))]) { $0.lanes = .fixed(2) }
        parts.firstHasEnded.open()
        #expect(outcome.codes == [.committed])
        #expect(parts.refusals.load(ordering: .relaxed) == 1)
    }
}

/// The parts of one upload on a server; one of them came on a connection that is gone.
private final class KeptParts: Sendable {
    let kept = Locked<Begin.Scope?>(nil)
    let firstHasEnded = Latch()
    let secondHasEnded = Latch()
    let refusals = Atomic<Int>(0)

    /// - Parameter isOlder: whether this connection is older than the one that brought the part.
    func serve(_ peer: FakeServer.Peer, isOlder: Bool) {
        while let arrival = peer.nextToAnswer() {
            switch arrival {
            case .message(.resume(let begin)): peer.send(.accept(begin.id))
            case .message(.begin(let begin)):
                guard let end = peer.nextEnd() else { return }
                var result = UploadResult(id: begin.id, code: .committed, size: end.size, digest: end.digest)
                if case .part = begin.scope {
                    result.code = .staged
                    if isOlder {
                        // Without this wait, this connection would serve all parts before the other one arrives.
                        secondHasEnded.wait()
                        if kept.withLock({ $0 }) == begin.scope {
                            refusals.add(1, ordering: .relaxed)
                            result = UploadResult(id: begin.id, code: .incomplete, message: "There is a newer one.")
                        }
                    }
                }
                peer.send(.result(result))
            default: break
            }
        }
    }
}

/// An event that happens once and that threads can wait for.
private final class Latch: Sendable {
    private let monitor = Monitor(false)

    func open() {
        monitor.lock()
        defer { monitor.unlock() }
        monitor.state = true
        monitor.wakeAll()
    }

    func wait() {
        monitor.lock()
        defer { monitor.unlock() }
        while !monitor.state { monitor.wait() }
    }
}
