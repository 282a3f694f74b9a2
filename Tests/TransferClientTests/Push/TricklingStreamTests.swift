import Testing
import TransferClient
import TransferCodec
import TransferModel
import TransferProtocol
import TransferSystem
import TransferTestSupport

/// A stream that returns a byte now and then; its connections time out in between.
@Suite struct TricklingStreamTests {
    /// Returns its first block at once, and then a byte only when the test allows it.
    private final class Trickle: ByteSource {
        private struct State {
            var front = Limits.blockSize
            var given: UInt64 = 0
            var flows = false
            var hasEnded = false
        }

        private let monitor = Monitor(State())

        var given: UInt64 { monitor.withLock { monitor.state.given } }

        /// Lets reads return at once, or makes them wait for the next call.
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

    /// The connection is dropped repeatedly while the stream has no content, and the upload is resumed each time. In
    /// total this takes longer than the client retries.
    @Test func itOutlivesIdleConnections() async throws {
        let source = Trickle()
        let digest = Locked<Digest?>(nil)
        let drop: @Sendable (FakeServer.Peer) -> Void = { peer in
            peer.send(.result(UploadResult(id: .none, code: .timedOut, message: "The connection was not used.")))
            // The client notices the lost connection only when a read returns.
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
            // The pauses before seven attempts would double beyond this limit if the count did not restart after each
            // success.
            $0.retryFor = 3
        }
        #expect(outcome.failure == nil)
        #expect(outcome.codes == [.committed])
        #expect(outcome.reports.first?.size == source.given)
        #expect(fake.connections == 8)
    }
}

extension FakeServer.Peer {
    /// Answers that the server has the first block of the resumed upload.
    fileprivate func answerQuestion(_ block: Digest?) {
        while case .message(let message)? = next() {
            guard case .resume(let begin) = message, let block else { continue }
            return send(.have(Have(id: begin.id, first: 0, digests: [block])), .accept(begin.id))
        }
    }
}
