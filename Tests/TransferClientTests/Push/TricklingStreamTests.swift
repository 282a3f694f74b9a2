import Testing
import TransferClient
import TransferCodec
import TransferModel
import TransferProtocol
import TransferSystem
import TransferTestSupport

/// A stream that gives a byte now and then, which no connection is kept open for.
@Suite struct TricklingStreamTests {
    /// Gives its front at once, and then a byte only when it is told to.
    private final class Trickle: ByteSource {
        private struct State {
            var front = Limits.blockSize
            var given: UInt64 = 0
            var flows = false
            var hasEnded = false
        }

        private let monitor = Monitor(State())

        var given: UInt64 { monitor.withLock { monitor.state.given } }

        /// Nobody waits for a byte from now on, or until told otherwise.
        func flow(_ flows: Bool) {
            monitor.withLock { monitor.state.flows = flows }
            monitor.wakeAll()
        }

        func end() {
            monitor.withLock { monitor.state.hasEnded = true }
            monitor.wakeAll()
        }

        func read(into buffer: UnsafeMutableRawBufferPointer) -> Int {
            monitor.withLock {
                while monitor.state.front == 0, !monitor.state.flows, !monitor.state.hasEnded { monitor.wait() }
                let isFront = monitor.state.front > 0
                if !isFront, monitor.state.hasEnded { return 0 }
                let count = isFront ? min(buffer.count, monitor.state.front) : 1
                buffer.prefix(count).initializeMemory(as: UInt8.self, repeating: 7)
                if isFront { monitor.state.front -= count }
                monitor.state.given += UInt64(count)
                return count
            }
        }
    }

    /// It is dropped again and again while it has nothing to send, and goes on each time: for longer in all than the client
    /// is patient with a server that is gone.
    @Test func itOutlivesIdleConnections() async throws {
        let source = Trickle()
        let digest = Locked<Digest?>(nil)
        let drop: @Sendable (FakeServer.Peer) -> Void = { peer in
            peer.send(.result(UploadResult(id: .none, code: .timedOut, message: "The connection was not used.")))
            // Only when somebody stops to wait for it does the client see that it was dropped.
            source.flow(true)
            peer.drain()
        }
        let again: @Sendable (FakeServer.Peer) -> Void = { peer in
            source.flow(false)
            peer.welcome()
            peer.answerQuestion(digest.withLock { $0 })
            drop(peer)
        }
        let fake = FakeServer(
            { peer in
                peer.welcome()
                guard let begin = peer.nextBegin(), let end = peer.nextEnd() else { return }
                digest.withLock { $0 = end.digest }
                peer.send(.result(UploadResult(id: begin.id, code: .staged, size: end.size, digest: end.digest)))
                drop(peer)
            }, again, again, again, again, again, again,
            { peer in
                source.flow(false)
                peer.welcome()
                peer.answerQuestion(digest.withLock { $0 })
                source.end()
                while let begin = peer.nextBegin(), let end = peer.nextEnd() {
                    let code: ResultCode = begin.scope == .multipart ? .committed : .staged
                    peer.send(.result(UploadResult(id: begin.id, code: code, size: end.size, digest: end.digest)))
                }
            })
        let outcome = try await fake.address.outcome([.stream(source, name: "slow")]) {
            $0.lanes = .fixed(1)
            // The waits before seven attempts double to more than that, unless each is the first.
            $0.retryFor = 3
        }
        #expect(outcome.failure == nil)
        #expect(outcome.codes == [.committed])
        #expect(outcome.reports.first?.size == source.given)
        #expect(fake.connections == 8)
    }
}

extension FakeServer.Peer {
    /// Says that the first block of what is asked about is there.
    fileprivate func answerQuestion(_ block: Digest?) {
        while case .message(let message)? = next() {
            guard case .resume(let begin) = message, let block else { continue }
            return send(.have(Have(id: begin.id, first: 0, digests: [block])), .accept(begin.id))
        }
    }
}
