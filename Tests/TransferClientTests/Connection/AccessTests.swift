import Testing
import TransferClient
import TransferModel
import TransferProtocol
import TransferSystem

/// How a client behaves towards a server that wants to know who it is. What it shows inside TLS is tested with whole
/// programs.
@Suite struct AccessTests {
    private let one = [Upload.text("a", name: "a")]

    private static func busy(_ milliseconds: UInt32?) -> Message {
        .result(
            UploadResult(id: .none, code: .busy, message: "Too many attempts.", retryAfter: milliseconds))
    }

    /// Who listens in learns nothing.
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

    /// Nobody waits for longer than he wanted to.
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

    /// Looking whether the server answers is not done before it has.
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
