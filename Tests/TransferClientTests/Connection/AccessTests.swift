import Testing
import TransferClient
import TransferModel
import TransferProtocol
import TransferSystem

/// A client's behaviour towards a server that requires authentication. Tests of whole programs cover the credentials
/// inside TLS.
@Suite struct AccessTests {
    private let one = [Upload.text("a", name: "a")]

    private static func busy(_ milliseconds: UInt32?) -> Message {
        .result(
            UploadResult(id: .none, code: .busy, message: "Too many attempts.", retryAfter: milliseconds))
    }

    /// Without encryption, the client sends neither token nor name, so an eavesdropper learns neither.
    @Test func nothingIsShownWithoutEncryption() async throws {
        let said = Locked<[FakeServer.Peer.Arrival]>([])
        let fake = FakeServer { peer in
            if let arrival = peer.next() { said.withLock { $0.append(arrival) } }
            peer.send(.welcome(Welcome()))
            peer.commitNext()
            peer.drain()
        }
        let outcome = try await fake.address.outcome(one) { $0.machineName = "laptop" }
        #expect(outcome.codes == [.committed])
        guard case .message(.hello(let hello))? = said.withLock({ $0.first }) else {
            Issue.record("no hello")
            return
        }
        #expect(hello.token == nil && hello.clientName == "")
    }

    @Test func aTokenIsNotSentWithoutEncryption() async throws {
        var configuration = ClientConfiguration.patient
        configuration.token = "transfer_0_0"
        let address = try #require(ServerAddress("127.0.0.1:1"))
        let failure = #expect(throws: TransferFailure.self) {
            try TransferClient(server: address, configuration: configuration)
        }
        #expect(failure?.reason == .untrusted && failure?.message.contains("transfer_") == false)
    }

    @Test func whoIsHeldOffComesAgain() async throws {
        let fake = FakeServer(
            { peer in
                _ = peer.next()
                peer.send(Self.busy(20))
            },
            { peer in
                peer.welcome()
                peer.commitNext()
                peer.drain()
            })
        let outcome = try await fake.address.outcome(one)
        #expect(outcome.failure == nil && outcome.codes == [.committed])
        #expect(fake.connections == 2)
    }

    /// A pause that exceeds the caller's limit ends the push with the server's message.
    @Test func whoIsHeldOffForTooLongIsTold() async throws {
        let fake = FakeServer { peer in
            _ = peer.next()
            peer.send(Self.busy(300_000))
        }
        let outcome = try await fake.address.outcome(one) { $0.retryFor = 60 }
        #expect(outcome.failure?.reason == .refused)
        #expect(outcome.failure?.message == "The server refused: Too many attempts. (busy). It was not tried again.")
        #expect(outcome.sources == ["a"] && fake.connections == 1)
    }

    /// `connect` also waits for a busy server before it reports the result.
    @Test func connectingWaitsToo() async throws {
        let fake = FakeServer(
            { peer in
                _ = peer.next()
                peer.send(Self.busy(20))
            },
            { peer in
                _ = peer.next()
                peer.send(.result(UploadResult(id: .none, code: .authenticationFailed, message: "Not you.")))
            })
        let (address, configuration) = (try fake.address, ClientConfiguration.patient)
        let failure = await #expect(throws: TransferFailure.self) {
            try await TransferClient.connect(to: address, configuration: configuration)
        }
        #expect(failure?.reason == .refused && fake.connections == 2)
    }
}
