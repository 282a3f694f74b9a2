import Testing
import TransferClient
import TransferModel
import TransferProtocol

/// An acknowledgement counts only when it is one of what was sent.
@Suite struct FalseAcknowledgementTests {
    /// Bytes of content. The content itself as an argument would be printed.
    private static let sizes = [0, 5, 100_000, 5 << 20]

    @Test(arguments: sizes, [ResultCode.committed, .alreadyStored])
    func anotherDigestIsAFault(_ size: Int, code: ResultCode) async throws {
        let fake = FakeServer { peer in
            peer.welcome()
            guard let begin = peer.nextBegin(), let end = peer.nextEnd() else { return }
            var bytes = end.digest.bytes
            bytes[3] ^= 1
            let digest = Digest(end.digest.algorithm, bytes)
            peer.send(.result(UploadResult(id: begin.id, code: code, size: end.size, digest: digest)))
            peer.drain()
        }
        try await expectFault(fake, size)
    }

    @Test(arguments: sizes) func noDigestIsAFault(_ size: Int) async throws {
        let fake = FakeServer { peer in
            peer.welcome()
            guard let begin = peer.nextBegin(), let end = peer.nextEnd() else { return }
            peer.send(.result(UploadResult(id: begin.id, code: .committed, size: end.size)))
            peer.drain()
        }
        try await expectFault(fake, size)
    }

    private func expectFault(_ fake: FakeServer, _ size: Int) async throws {
        let outcome = try await fake.address.outcome([.bytes([UInt8](repeating: 7, count: size), name: "x")])
        #expect(outcome.failure?.reason == .protocolFault)
        #expect(outcome.codes == [.connectionLost])
        #expect(outcome.reports.first?.storedPath == nil)
    }
}
