import Synchronization
import Testing
import TransferAccess
import TransferHTTP
import TransferModel
import TransferProtocol
import TransferTestSupport

@testable import TransferServer

extension ServerTests {
    /// Idle connections rest: the server keeps no session for them.
    @Suite(.overEachStoreIfAsked, .oneServer) struct HTTPRestTests {
        private let directory: TemporaryDirectory
        private let lists: any AccessLists

        init() throws {
            directory = try TemporaryDirectory()
            lists = try StoreKind.current.access(in: directory)
        }

        /// - Parameter isListed: whether clients have to authenticate.
        private func serving(
            isListed: Bool = false, _ change: (inout ServerConfiguration) -> Void = { _ in },
            _ body: @escaping @Sendable (TestServer) throws -> Void
        ) async throws {
            try await TransferServerTests.serving(
                { configuration in
                    configuration.http = .on
                    configuration.timeouts.rest = .seconds(0)
                    if isListed { (configuration.security, configuration.access) = (.identity, .listed(owner: nil)) }
                    change(&configuration)
                }, in: directory, body)
        }

        private static func waitForRest(_ server: TestServer) throws {
            try server.waitUntil("the client rests") {
                let connections = server.server.core.observability.connections.all
                return !connections.isEmpty && connections.allSatisfy(\.present.isResting)
            }
        }

        @Test(arguments: [false, true]) func aClientGoesOn(_ isListed: Bool) async throws {
            let token = try lists.issue(.token, name: "camera", options: AccessOptions(), at: .now)
            let fields = isListed ? [("Authorization", "Bearer \(token.text)")] : []
            try await serving(isListed: isListed) { server in
                let client = try HTTPClient(server, isSecured: isListed)
                for number in 0..<5 {
                    #expect(try client.ask(.put, "/\(number)", fields, [UInt8(number)]).status == 201)
                    try Self.waitForRest(server)
                    #expect(try client.ask(.get, "/\(number)", fields).content == [UInt8(number)])
                }
                try Self.waitForRest(server)
                // The next request may have other credentials, so the new session authenticates again.
                #expect(try client.ask(.get, "/1").status == (isListed ? 401 : 200))
                #expect(try client.ask(.get, "/1", fields).content == [1])
            }
        }

        /// Bytes that the server receives while a session ends belong to the next session.
        @Test(arguments: [false, true]) func nothingIsLostBetween(_ isSecured: Bool) async throws {
            try await serving {
                ($0.security, $0.access) = (isSecured ? .identity : .plaintext, .everyone)
            } _: { server in
                let client = try HTTPClient(server, isSecured: isSecured)
                for number in 0..<300 {
                    let content = [UInt8](repeating: UInt8(number & 0xFF), count: number * 37)
                    client.send(.put, "/x", [], content)
                    if number % 3 == 0 { client.send(.get, "/x") }
                    let stored = try client.answer()
                    #expect(stored.status == (number == 0 ? 201 : 200), "\(stored.status) \(stored.text)")
                    if number % 3 == 0 { #expect(try client.answer().content == content) }
                }
            }
        }

        /// The client has not yet taken its answers when there is nothing more to receive.
        @Test func whoTakesSlowlyRestsAfterwards() async throws {
            try await serving { server in
                let client = try HTTPClient(server)
                let content = [UInt8](repeating: 7, count: 24 << 20)
                _ = try client.ask(.put, "/x", [], content)
                client.send(.get, "/x")
                try server.waitUntil("as much waits as fits") {
                    server.server.core.transport.unsent.load(ordering: .relaxed) > 0
                }
                #expect(try client.answer().content.count == content.count)
                try Self.waitForRest(server)
            }
        }

        /// A connection does not rest until the client has been sent all of the answer, even if the answer is complete
        /// already.
        @Test func whoWaitsForAnAnswerDoesNotRest() async throws {
            try await serving { server in
                let client = try HTTPClient(server)
                let content = SplitMix64.bytes(seed: 2, 64 << 10)
                _ = try client.ask(.put, "/x", [], content)
                let transport = server.server.core.transport
                var asked = 0
                // Requests are sent until the sockets are full and whole answers wait for the client.
                repeat {
                    client.send(.get, "/x")
                    asked += 1
                    try server.waitUntil("the answer is made") {
                        let sent = server.server.core.observability.connections.all.map(\.present.sent)
                        return sent.allSatisfy { $0 >= UInt64(asked * content.count) }
                    }
                } while transport.unsent.load(ordering: .relaxed) < 2 * content.count
                // The client ends its sending side, so a truncated answer does not make it wait for the rest.
                client.raw.endSending()
                for _ in 0..<asked { #expect(try client.answer().content == content) }
            }
        }

        @Test func aRequestMayComeByteByByte() async throws {
            try await serving { server in
                let client = try HTTPClient(server)
                _ = try client.ask(.put, "/x", [], [1])
                for _ in 0..<2 {
                    try Self.waitForRest(server)
                    for byte in "\r\nGET /x HTTP/1.1\r\nHost: server\r\n\r".utf8 {
                        client.raw.send([byte])
                        #expect(!client.raw.hasAnswer(within: 1))
                    }
                    client.send(bytes: "\n")
                    #expect(try client.answer().content == [1])
                }
            }
        }

        @Test func whoIsThrownOutMeanwhileIsOut() async throws {
            let lists = lists
            let token = try lists.issue(.token, name: "camera", options: AccessOptions(), at: .now)
            try await serving(isListed: true) { server in
                let client = try HTTPClient(server, isSecured: true)
                let fields = [("Authorization", "Bearer \(token.text)")]
                #expect(try client.ask(.put, "/x", fields, [1]).status == 201)
                try Self.waitForRest(server)
                _ = try lists.revoke { $0.name.hasSameBytes(as: "camera") }
                #expect([401, 403].contains(try client.ask(.put, "/y", fields, [1]).status) && server.tree == ["x"])
            }
        }

        @Test func aClientThatGoesLeavesNothing() async throws {
            try await serving { server in
                for _ in 0..<3 {
                    do {
                        let client = try HTTPClient(server)
                        _ = try client.ask(.put, "/x", [], [1])
                        try Self.waitForRest(server)
                    }
                    try server.waitUntil("it is gone") { server.server.core.observability.connections.all.isEmpty }
                }
                try server.checkServes()
            }
        }

        /// A resting connection has the same timeout as any idle one.
        @Test func whoRestsForTooLongIsGivenUp() async throws {
            try await growingTimeout(from: 100) { milliseconds in
                try await serving {
                    $0.timeouts.idle = .milliseconds(milliseconds)
                } _: { server in
                    let client = try HTTPClient(server)
                    try early { _ = try client.ask(.put, "/x", [], [1]) }
                    #expect(try client.isClosed())
                    try server.waitUntil("it is gone") { server.server.core.observability.connections.all.isEmpty }
                }
            }
        }

        /// A client that requests much and reads none of it is given up like a silent one, although the answer waits
        /// for it.
        @Test func whoReadsNoAnswerIsGivenUp() async throws {
            try await serving {
                ($0.timeouts.idle, $0.timeouts.silence) = (.milliseconds(500), .milliseconds(500))
            } _: { server in
                #expect(try HTTPClient(server).ask(.put, "/x", [], SplitMix64.bytes(seed: 1, 32 << 20)).status == 201)
                let client = try HTTPClient(server)
                client.send(.get, "/x")
                #expect(try client.head().status == 200)
                try server.waitUntil("it is gone") { server.server.core.observability.connections.all.isEmpty }
            }
        }

        @Test func aServerThatStopsWaitsForNobodyWhoRests() async throws {
            try await serving { server in
                let clients = try (0..<8).map { _ in try HTTPClient(server) }
                for client in clients { _ = try client.ask(.put, "/x", [], [1]) }
                try Self.waitForRest(server)
                server.beginShutDown()
                for client in clients { #expect(try client.isClosed()) }
            }
        }
    }
}
