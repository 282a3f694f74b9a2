import Testing
import TransferModel
import TransferProtocol
import TransferServer
import TransferTestSupport

extension ServerTests {
    /// Timeouts of silent, idle and unauthenticated clients.
    @Suite(.oneServer) struct TimeoutTests {
        @Test(arguments: [[], Array(Frames.hello.prefix(9))])
        func aHandshakeThatDoesNotCome(begun: [UInt8]) async throws {
            try await growingTimeout { milliseconds in
                try await serving({ $0.timeouts.handshake = .milliseconds(milliseconds) }) { server in
                    let client = try server.client()
                    client.send(begun)
                    #expect(try client.result().code == .timedOut)
                    #expect(try client.next() == .closed)
                    try early { try server.checkServes() }
                }
            }
        }

        @Test func aSilentPeerIsGivenUp() async throws {
            try await growingTimeout(from: 200) { milliseconds in
                try await serving({ $0.timeouts.silence = .milliseconds(milliseconds) }) { server in
                    let client = try early {
                        let client = try server.greetedClient()
                        client.send(Frames.begin("x", size: 5_000_000, expectsAccept: true))
                        try client.expectAccept()
                        return client
                    }
                    #expect(try client.result().code == .timedOut)
                    #expect(try client.next() == .closed)
                    #expect(server.parts.isEmpty)
                    #expect(server.tree.isEmpty)
                }
            }
        }

        /// Pings are sent long before the time for the handshake has passed, and a client that answers them stays.
        @Test func aPeerThatAnswersPingsStays() async throws {
            try await serving({
                $0.timeouts.silence = .seconds(1000)
                $0.timeouts.heartbeat = .milliseconds(20)
                $0.timeouts.handshake = .seconds(1000)
            }) { server in
                let client = try server.greetedClient()
                for _ in 0..<10 {
                    guard case .message(.ping(let token)) = try client.next() else {
                        throw RawClient.Failure(description: "no ping")
                    }
                    client.send(.pong(token))
                }
                client.send(Frames.upload("x", [1]))
                #expect(try client.result().code == .committed)
            }
        }

        /// Pings show that a client lives, but do not count as use of the connection.
        @Test func anIdleConnectionIsClosedThoughItPings() async throws {
            try await serving({
                $0.timeouts.idle = .milliseconds(200)
                $0.timeouts.heartbeat = .milliseconds(20)
            }) { server in
                let client = try server.greetedClient()
                while true {
                    switch try client.nextMessage() {
                    case .ping(let token): client.send(.pong(token), .ping(7))
                    case .pong: continue
                    case let last:
                        guard case .result(let result) = last else {
                            throw RawClient.Failure(description: "no result but \(last)")
                        }
                        #expect(result.code == .timedOut)
                        return
                    }
                }
            }
        }

        @Test func timesTooShortForTheWireAreNotZero() async throws {
            try await serving({ $0.timeouts.heartbeat = Interval(nanoseconds: 1000) }) { server in
                let client = try server.client()
                client.send(Frames.hello)
                guard case .message(.welcome(let welcome)) = try client.next() else {
                    throw RawClient.Failure(description: "no welcome")
                }
                #expect(welcome.heartbeat == 1)
            }
        }
    }
}
