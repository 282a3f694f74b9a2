import Testing
import TransferClient
import TransferModel
import TransferProtocol

/// An acknowledgement counts only if its digest and size match the upload.
@Suite struct FalseAcknowledgementTests {
    /// Sizes of content. The content as an argument would be printed.
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

    /// These codes are valid for a part of an upload, or for a name that may be skipped, but not for a whole upload.
    @Test(arguments: [.staged, .completed, .stored, .skipped, ResultCode(rawValue: 9), ResultCode(rawValue: 99)])
    func aSuccessThatStoresNothingIsAFault(_ code: ResultCode) async throws {
        let fake = FakeServer { peer in
            peer.welcome()
            guard let begin = peer.nextBegin(), let end = peer.nextEnd() else { return }
            peer.send(.result(UploadResult(id: begin.id, code: code, size: end.size, digest: end.digest)))
            peer.drain()
        }
        try await expectFault(fake, 5)
    }

    @Test func whatWasAskedForIsSkipped() async throws {
        let fake = FakeServer { peer in
            peer.welcome()
            guard let begin = peer.nextBegin() else { return }
            peer.send(.result(UploadResult(id: begin.id, code: .skipped)))
            peer.drain()
        }
        let outcome = try await fake.address.outcome([.bytes([7], name: "x")]) { $0.conflict = .skip }
        #expect(outcome.failure == nil && outcome.codes == [.skipped])
    }

    @Test(arguments: ["../x", "/x", "a/../x", "", "a//b", "a\u{0}b"]) func aPathThatNoUploadCanHaveIsAFault(
        _ path: String
    ) async throws {
        let fake = FakeServer { peer in
            peer.welcome()
            guard let begin = peer.nextBegin(), let end = peer.nextEnd() else { return }
            peer.send(
                .result(
                    UploadResult(id: begin.id, code: .committed, size: end.size, digest: end.digest, storedPath: path)))
            peer.drain()
        }
        try await expectFault(fake, 5)
    }

    /// A code that does not belong to the request is a protocol fault.
    @Test(arguments: [.staged, .skipped, .committed, .alreadyStored, ResultCode(rawValue: 9)])
    func aRequestIsMetOrNot(_ code: ResultCode) async throws {
        let server = FakeServer { peer in
            peer.welcome(Welcome(features: .files))
            guard case .message(.remove(let remove))? = peer.next() else { return }
            peer.send(.outcome(Ending(id: remove.id, code: code)))
            peer.drain()
        }
        let client = try TransferClient(server: server.address, configuration: .plain())
        var (codes, failure): ([ResultCode], TransferFailure?) = ([], nil)
        do {
            for try await report in client.remove(["a"]) { codes.append(report.result) }
        } catch {
            failure = error
        }
        server.stop()
        #expect(failure?.reason == .protocolFault && codes.allSatisfy { !$0.isSuccess })
    }

    private func expectFault(_ fake: FakeServer, _ size: Int) async throws {
        let outcome = try await fake.address.outcome([.bytes([UInt8](repeating: 7, count: size), name: "x")])
        #expect(outcome.failure?.reason == .protocolFault)
        #expect(outcome.codes == [.connectionLost])
        #expect(outcome.reports.first?.storedPath == nil)
    }
}
