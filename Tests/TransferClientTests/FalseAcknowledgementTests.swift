import Testing
import TransferClient
import TransferProtocol

/// An acknowledgement counts only when it is one of what was sent.
@Suite struct FalseAcknowledgementTests {
    private static let contents = [
        [], Array("short".utf8), [UInt8](repeating: 7, count: 100_000), [UInt8](repeating: 8, count: 5 << 20),
    ]

    @Test(arguments: contents, [ResultCode.committed, .alreadyStored])
    func anotherDigestIsAFault(_ content: [UInt8], code: ResultCode) async throws {
        let fake = FakeServer { peer in
            peer.welcome()
            guard let begin = peer.nextBegin(), let end = peer.nextEnd() else { return }
            var bytes = end.digest.bytes
            bytes[3] ^= 1
            let digest = Digest(end.digest.algorithm, bytes)
            peer.send(.result(UploadResult(id: begin.id, code: code, size: end.size, digest: digest)))
            peer.drain()
        }
        try await expectFault(fake, content)
    }

    @Test(arguments: contents) func noDigestIsAFault(_ content: [UInt8]) async throws {
        let fake = FakeServer { peer in
            peer.welcome()
            guard let begin = peer.nextBegin(), let end = peer.nextEnd() else { return }
            peer.send(.result(UploadResult(id: begin.id, code: .committed, size: end.size)))
            peer.drain()
        }
        try await expectFault(fake, content)
    }

    private func expectFault(_ fake: FakeServer, _ content: [UInt8]) async throws {
        let outcome = try await fake.address.outcome([.bytes(content, name: "x")])
        #expect(outcome.failure?.reason == .protocolFault)
        #expect(outcome.codes == [.connectionLost])
        #expect(outcome.reports.first?.storedPath == nil)
    }
}
