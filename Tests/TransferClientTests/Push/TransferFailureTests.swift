import Testing
import TransferClient
import TransferModel
import TransferProtocol
import TransferTestSupport

/// The end of a push that cannot go on.
@Suite struct TransferFailureTests {
    private let three = (0..<3).map { Upload.text("text \($0)", name: "\($0)") }

    @Test func nobodyListens() async throws {
        let (wire, port) = Wire.listen()
        wire.cut()
        let address = try #require(ServerAddress("127.0.0.1:\(port)"))
        let outcome = try await address.outcome(three)
        #expect(outcome.failure?.reason == .unreachable)
        #expect(outcome.failure?.message.contains("127.0.0.1:\(port)") == true)
    }

    @Test func theNameIsUnknown() async throws {
        let address = try #require(ServerAddress("no-such-host.invalid"))
        let outcome = try await address.outcome(three)
        #expect(outcome.failure?.reason == .unreachable)
        #expect(outcome.failure?.message.contains("no-such-host.invalid") == true)
    }

    @Test(arguments: [ResultCode.authenticationRequired, .authenticationFailed, .forbidden])
    func accessIsRefused(_ code: ResultCode) async throws {
        let fake = FakeServer { peer in
            _ = peer.next()
            peer.send(.result(UploadResult(id: .none, code: code, message: "Not you.")))
        }
        let outcome = try await fake.address.outcome(three)
        #expect(outcome.failure?.reason == .refused)
        #expect(outcome.failure?.message.contains("Not you.") == true)
        #expect(outcome.sources == ["0", "1", "2"])
        #expect(outcome.codes == [code, code, code])
        #expect(fake.connections == 1)
    }

    @Test func anotherVersionIsRefused() async throws {
        let fake = FakeServer { peer in
            _ = peer.next()
            peer.send(.result(UploadResult(id: .none, code: .unsupportedVersion, message: "Too new.")))
        }
        let outcome = try await fake.address.outcome(three)
        #expect(outcome.failure?.reason == .protocolFault)
        #expect(outcome.sources == ["0", "1", "2"])
    }

    private static let garbage: [(String, [UInt8])] = [
        ("HTTP", Array("HTTP/1.1 400 Bad Request\r\n\r\n".utf8)), ("zeros", Array(repeating: 0, count: 64)),
        ("data", [0, 2, 0, 18, 0, 0, 1, 0]), ("huge", [0, 2, 0, 23, 0, 0xFF, 0xFF] + Array(repeating: 0xFF, count: 8)),
        ("hello", encoded(.hello(Hello(agent: "x")))),
        ("two welcomes", encoded(.welcome(Welcome())) + encoded(.welcome(Welcome()))),
        ("unknown id", encoded(.welcome(Welcome())) + encoded(.result(UploadResult(id: .random(), code: .committed)))),
        ("unknown accept", encoded(.welcome(Welcome())) + encoded(.accept(.random()))),
        ("result before welcome", encoded(.result(UploadResult(id: .random(), code: .committed)))),
    ]

    private static func encoded(_ message: Message) -> [UInt8] {
        var bytes: [UInt8] = []
        message.encode(into: &bytes)
        return bytes
    }

    @Test(arguments: garbage.indices)
    func aServerThatMakesNoSenseIsLeft(_ index: Int) async throws {
        let (name, bytes) = Self.garbage[index]
        let fake = FakeServer { peer in
            _ = peer.next()
            peer.wire.send(bytes)
            peer.drain()
        }
        let outcome = try await fake.address.outcome(three)
        #expect(outcome.failure?.reason == (name == "HTTP" ? .unsupported : .protocolFault), "\(name)")
        #expect(outcome.sources == ["0", "1", "2"], "\(name)")
        #expect(outcome.codes.allSatisfy { $0 == .connectionLost }, "\(name)")
    }

    @Test func aServerThatNeverAnswersIsUnreachable() async throws {
        let fake = FakeServer { $0.drain() }
        let outcome = try await fake.address.outcome(three) { $0.handshakeTimeout = 0.2 }
        #expect(outcome.failure?.reason == .unreachable)
        fake.stop()
    }

    @Test(arguments: [false, true]) func aServerThatFallsSilentIsTriedAgain(_ triesFirst: Bool) async throws {
        let fake = FakeServer(
            { peer in
                peer.welcome()
                peer.drain()
            },
            { peer in
                peer.welcome()
                while let begin = peer.nextBegin() { peer.commit(begin) }
            })
        // The server is silent for longer than the client retries, but the limit counts only from the loss.
        let outcome = try await fake.address.outcome(three) {
            $0.silenceTimeout = 4
            ($0.retryFor, $0.retriesFirstConnection) = (3, triesFirst)
        }
        #expect(outcome.failure == nil)
        #expect(outcome.codes == [.committed, .committed, .committed])
        #expect(outcome.connections == 2)
    }

    @Test func aServerThatStaysSilentIsGivenUp() async throws {
        let fake = FakeServer(
            { peer in
                peer.welcome()
                peer.commitNext()
                peer.drain()
            })
        let outcome = try await fake.address.outcome(three) {
            $0.silenceTimeout = 3
            $0.retryFor = 0.5
        }
        #expect(outcome.failure?.reason == .unreachable)
        #expect(outcome.sources == ["0", "1", "2"])
        #expect(outcome.codes == [.committed, .connectionLost, .connectionLost])
    }

    /// After the first attempt and `retries` more, the server's answer is the result, and the other uploads go on.
    @Test func anUploadThatIsRefusedAgainAndAgainIsGivenUp() async throws {
        let fake = FakeServer { peer in
            peer.welcome()
            while let begin = peer.nextBegin() {
                guard begin.path == "1" else {
                    peer.commit(begin)
                    continue
                }
                peer.send(.result(UploadResult(id: begin.id, code: .busy, message: "Later.", retryAfter: 1)))
            }
        }
        let outcome = try await fake.address.outcome(three) { $0.retries = 2 }
        #expect(outcome["0"]?.result == .committed && outcome["2"]?.result == .committed)
        #expect(outcome["1"]?.result == .busy && outcome["1"]?.message.contains("Later.") == true)
        #expect(fake.begun.filter { $0 == "1" }.count == 3)
    }

    /// `connect` fails if the server accepts the connection but never answers.
    @Test func connectingNeedsAnAnswer() async throws {
        let silent = FakeServer { $0.drain() }
        var configuration = ClientConfiguration.plaintext
        configuration.handshakeTimeout = 0.2
        let (address, patience) = (try silent.address, configuration)
        await #expect(throws: TransferFailure.self) {
            _ = try await TransferClient.connect(to: address, configuration: patience)
        }
        silent.stop()
        try await withServer { server in
            let client = try await TransferClient.connect(to: server.address, configuration: .plaintext)
            #expect(try await client.push(.text("x", name: "x")).map(\.result) == [.committed])
        }
    }
}
