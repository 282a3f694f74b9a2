import Testing
import TransferAccess
import TransferHTTP
import TransferIO
import TransferKeys
import TransferModel
import TransferProtocol
import TransferTestSupport

@testable import TransferIntake
@testable import TransferServer

extension ServerTests {
    /// Limits of what one client can take from others, however many connections it has.
    @Suite(.directoryOnly) struct SharesTests {
        private let directory: TemporaryDirectory
        private let busy = KeyPair()
        private let other = KeyPair()
        private let lists: any AccessLists

        init() throws {
            directory = try TemporaryDirectory()
            lists = try StoreKind.current.access(in: directory)
            for (name, pair) in [("busy", busy), ("other", other)] {
                try lists.admit(AuthorizedKey(pair.key, name: name))
            }
        }

        private func serving(
            _ change: @escaping @Sendable (inout ServerConfiguration) -> Void = { _ in },
            _ body: @escaping @Sendable (TestServer) throws -> Void
        ) async throws {
            let configure = { @Sendable (configuration: inout ServerConfiguration) in
                configuration.security = .identity
                configuration.access = .listed(owner: nil)
                // A ping would look like an answer.
                configuration.timeouts.heartbeat = .seconds(600)
                change(&configuration)
            }
            try await TransferServerTests.serving(configure, in: directory, body)
        }

        /// Opens a connection whose client the server has welcomed.
        private static func connection(of pair: KeyPair, to server: TestServer) throws -> RawClient {
            let client = try server.securedClient(pair)
            client.send(Frames.hello)
            guard case .welcome = try client.nextMessage() else { throw notWelcome }
            return client
        }

        private static let notWelcome = RawClient.Failure(description: "the server did not welcome")

        /// Each of four connections asks for as many uploads in parts as one connection may have: twice as many in all
        /// as the server has places for.
        @Test func placesForUploadsInParts() async throws {
            let places = 128
            try await serving({ $0.maximumMultiparts = places }) { [busy, other] server in
                let clients = try (0..<4).map { _ in try Self.connection(of: busy, to: server) }
                for client in clients {
                    client.send((0..<64).flatMap { PartedUpload("busy/\($0)", [1]).question })
                }
                var accepted = 0
                for client in clients {
                    for _ in 0..<64 {
                        switch try client.answer() {
                        case .accept: accepted += 1
                        case .result(let result): #expect(result.code == .busy)
                        case let answer: Issue.record("\(answer)")
                        }
                    }
                }
                #expect(accepted == places / 8, "an eighth")
                let upload = PartedUpload("other", SplitMix64.bytes(seed: 8, Limits.blockSize + 5))
                let client = try Self.connection(of: other, to: server)
                client.send(upload.question)
                try client.expectAccept()
                #expect(try client.codes(2, to: upload.inOnePart + upload.multipart) == [.staged, .committed])
                #expect(server.content("other") == upload.content)
                // Keeps the connections of the other uploads open.
                withExtendedLifetime(clients) {}
            }
        }

        /// 64 clients ask without end and read no answer, over more connections than there are buffers. None of them
        /// keeps a buffer, and the server still reads from another client.
        @Test func readersThatDoNotReadKeepNoBuffer() async throws {
            let readers = (0..<64).map { _ in KeyPair() }
            for (index, pair) in readers.enumerated() {
                try lists.admit(AuthorizedKey(pair.key, name: "reader \(index)"))
            }
            try await serving { [other] server in
                let transport = server.server.core.transport
                let client = try Self.connection(of: other, to: server)
                let uploads = (0..<64).flatMap { Frames.upload("folder/\($0)", [1]) }
                #expect(try client.codes(64, to: uploads).allSatisfy { $0 == .committed })
                var requests: [UInt8] = []
                for id in 0..<1_000 as Range<UInt32> {
                    Request.list(ListRequest(id: id, path: "folder", wantsDetails: true)).message.encode(
                        into: &requests)
                }
                let clients = try readers.flatMap { pair in
                    try (0..<2).map { _ in
                        let client = try Self.connection(of: pair, to: server)
                        client.send(requests)
                        return client
                    }
                }
                for number in 0..<20 {
                    #expect(try client.codes(to: Frames.upload("other \(number)", [1, 2, 3])) == [.committed])
                }
                try server.waitUntil("all that is received waits outside the buffers") { transport.buffers.used == 0 }
                withExtendedLifetime(clients) {}
            }
        }

        /// Clients ask without end over HTTP and read no answers. Their requests wait until they read, but not in a
        /// buffer, and the server still reads from another client.
        @Test func readersOverHTTPThatDoNotReadKeepNoBuffer() async throws {
            try await servingHTTP { server in
                let transport = server.server.core.transport
                let client = try HTTPClient(server)
                for number in 0..<64 { #expect(try client.ask(.put, "/folder/\(number)", [], [1]).status == 201) }
                let requests = String(repeating: "GET /folder/ HTTP/1.1\r\nHost: server\r\n\r\n", count: 2_000)
                let readers = try (0..<96).map { _ in
                    let reader = try HTTPClient(server)
                    reader.send(bytes: requests)
                    return reader
                }
                for number in 0..<20 { #expect(try client.ask(.put, "/\(number)", [], [1, 2]).status == 201) }
                try server.waitUntil("what waits is outside the buffers") { transport.buffers.used == 0 }
                withExtendedLifetime(readers) {}
            }
        }

        /// Uploads of one client stall behind a disk that does not answer, over more connections than there are
        /// buffers.
        ///
        /// - Parameter withGreeting: whether the client sends the uploads together with its greeting, before the server
        ///   knows the client.
        @Test(arguments: [false, true]) func buffersForWhatIsReceived(withGreeting: Bool) async throws {
            try await serving { [busy, other] server in
                let transport = server.server.core.transport
                let owner = AccountHolder.client(.key(busy.key))
                let (gate, account) = (Gate(), transport.accounts.enter(owner))
                defer {
                    gate.open()
                    transport.accounts.leave(owner)
                }
                transport.pool.submit(for: account) { gate.pass() }
                let clients = try (0..<Transport.bufferCount + 16).map { number in
                    let client = try withGreeting ? server.securedClient(busy) : Self.connection(of: busy, to: server)
                    let begin = Frames.begin("busy/\(number)", size: 1 << 20)
                    let upload = begin + Frames.data([UInt8](repeating: 1, count: 100_000))
                    client.send(withGreeting ? Frames.hello + upload : upload)
                    if withGreeting { guard case .welcome = try client.nextMessage() else { throw Self.notWelcome } }
                    return client
                }
                try server.waitUntil("it has all that it may have") {
                    gate.waiting == 1 && transport.buffers.takeNow(for: account.buffers) == nil
                }
                let client = try Self.connection(of: other, to: server)
                #expect(try client.codes(to: Frames.upload("other", [1, 2, 3])) == [.committed])
                #expect(server.tree == ["other"])
                #expect(clients.allSatisfy { !$0.hasAnswer(within: 0) }, "they wait still")
            }
        }
    }
}
