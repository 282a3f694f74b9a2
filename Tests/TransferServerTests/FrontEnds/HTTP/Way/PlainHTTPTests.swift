import CLinux
import Glibc
import Testing
import TransferAccess
import TransferHTTP
import TransferIO
import TransferKeys
import TransferModel
import TransferProtocol
import TransferSystem
import TransferTestSupport

@testable import TransferServer

extension ServerTests {
    /// Unencrypted HTTP from proxies, beside a server with TLS.
    @Suite struct PlainHTTPTests {
        private let directory: TemporaryDirectory
        private let lists: any AccessLists

        init() throws {
            directory = try TemporaryDirectory()
            lists = try StoreKind.current.access(in: directory)
        }

        private func serving(
            _ change: @escaping @Sendable (inout ServerConfiguration) -> Void = { _ in },
            log: Log = TestServer.noLog, _ body: @escaping @Sendable (TestServer) throws -> Void
        ) async throws {
            try await TransferServerTests.serving(
                { configuration in
                    configuration.security = .identity
                    configuration.access = .listed(owner: KeyPair().key)
                    configuration.plainHTTP = [PlainHTTPListener(TestServer.anyPort)]
                    change(&configuration)
                }, log: log, in: directory, body)
        }

        private func token() throws -> (String, String) {
            let token = try lists.issue(.token, name: "camera", options: AccessOptions(), at: .now)
            return ("Authorization", "Bearer \(token.text)")
        }

        @Test func rightsCountThere() async throws {
            let token = try token()
            // A client that speaks TLS on this port waits until the server gives it up.
            try await serving({ $0.timeouts.handshake = .seconds(10) }) { server in
                let client = try server.plainClient()
                #expect(try client.ask(.put, "/x", [], [1]).status == 401)
                #expect(try client.ask(.put, "/x", [token], [1]).status == 201)
                #expect(try client.ask(.get, "/x", [token]).content == [1] && server.content("x") == [1])
                // The port speaks no other protocol, and the usual listener is unchanged.
                let frames = try server.plainClient().raw
                frames.send(Frames.hello)
                #expect(try !String(decoding: frames.bytes(12), as: UTF8.self).isEmpty)
                #expect(throws: (any Error).self) { try server.plainClient().raw.secure() }
                try server.client().secure()
            }
        }

        @Test(.oneServer) func overAUnixSocket() async throws {
            let token = try token()
            let path = directory.path("proxy.sock")
            try await serving({ $0.plainHTTP = [PlainHTTPListener(.unix(path: path))] }) { server in
                var status = stat()
                #expect(lstat(path, &status) == 0 && status.st_mode & 0o777 == 0o660)
                let client = try server.plainClient()
                #expect(try client.ask(.put, "/x", [token], [1]).status == 201)
            }
            #expect(access(path, F_OK) != 0)
        }

        @Test func othersMustNotReachIt() async throws {
            var configuration = ServerConfiguration(directory: directory.path("store"), endpoints: [TestServer.anyPort])
            configuration.plainHTTP = [PlainHTTPListener(.internet(host: "0.0.0.0", port: 0))]
            let error = #expect(throws: ServerError.self) { try configuration.bind() }
            #expect(error?.message.contains("--http-plain has no encryption") ?? false)
            configuration.isPlainHTTPBeyondThisMachine = true
            for socket in try configuration.bind() { socket.socket.close() }
        }

        /// Only a trusted proxy is believed, and the client's address from its field is the one that counts.
        @Test(arguments: [true, false]) func aProxySaysWhoAsks(_ isTrusted: Bool) async throws {
            let token = try token()
            let change = { @Sendable (configuration: inout ServerConfiguration) in
                if isTrusted { configuration.trustedProxies = [.network(.ipv4Loopback, bits: 8)] }
            }
            try await serving(change) { server in
                let client = try server.plainClient()
                let from = { (address: String) in ("X-Forwarded-For", address) }
                #expect(try client.ask(.put, "/x", [token, from("203.0.113.9")], [1]).status == 201)
                let peers = server.server.core.status().connections.map(\.peer)
                #expect(peers.contains { $0.hasPrefix("203.0.113.9") } == isTrusted, "\(peers)")
                let page = [
                    token, ("Origin", "https://nas.example"), ("X-Forwarded-Proto", "https"),
                    ("X-Forwarded-Host", "nas.example"),
                ]
                #expect(try client.ask(.put, "/y", page, [1]).status == (isTrusted ? 201 : 403))
                let two = [token, from("203.0.113.9"), ("Forwarded", "for=203.0.113.8")]
                let answer = try client.ask(.get, "/x", two)
                #expect(answer.status == (isTrusted ? 400 : 200))
                if isTrusted { #expect(try answer["connection"] == "close" && client.isClosed()) }
            }
        }

        /// A client that tries tokens is slowed down, and other clients behind the same proxy are not.
        @Test(.oneServer) func attemptsAreCountedForEachClient() async throws {
            let token = try token()
            try await serving({ $0.trustedProxies = [.network(.ipv4Loopback, bits: 8)] }) { server in
                let wrong = ("Authorization", "Bearer \(AccessSecret.random(.token).text)")
                var status = 401
                for _ in 0..<12 where status == 401 {
                    status = try server.plainClient().ask(.get, "/", [wrong, ("X-Forwarded-For", "203.0.113.9")]).status
                }
                #expect(status == 503, "it has to wait")
                let other = try server.plainClient().ask(.get, "/", [token, ("X-Forwarded-For", "203.0.113.10")])
                #expect(other.status == 200)
            }
        }

        /// No client of this port counts as the owner of this machine, whatever credentials it shows.
        @Test func nobodyIsLocal() async throws {
            try await serving { server in
                let way = HTTPWays(server.server.core.configuration) { _ in false }
                #expect(!way.origin(of: .ipv4Loopback).isLocal)
                let client = try server.plainClient()
                #expect(try client.ask(.get, "/").status == 401)
            }
        }

        /// Pages of other sites reach an open server by their own names, and are refused.
        @Test(arguments: [true, false]) func namesOfOthersAreNone(_ isPlaintext: Bool) async throws {
            let change = { @Sendable (configuration: inout ServerConfiguration) in
                configuration.access = .everyone
                (configuration.http, configuration.advertised) = (.on, nil)
                if isPlaintext { configuration.security = .plaintext }
            }
            try await serving(change) { server in
                let clients = try [HTTPClient(server, isSecured: !isPlaintext), server.plainClient()]
                for client in clients {
                    // The test's client calls the server by a name that the server does not know.
                    #expect(try client.ask(.put, "/x", [], [1]).status < 300)
                    for mark in ["Origin", "Sec-Fetch-Site", "Cookie", "Accept-Language"] {
                        let answer = try client.ask(.get, "/x", [(mark, "a")])
                        #expect(answer.status == 421 && answer.text.contains("--advertise"))
                    }
                    #expect(try client.ask(.put, "/y", [("Origin", "http://server")], [1]).status == 421)
                    client.send(bytes: "GET /x HTTP/1.1\r\nHost: localhost:80\r\nCookie: a\r\n\r\n")
                    #expect(try client.answer().content == [1])
                }
                #expect(server.tree == ["x"])
            }
        }
    }
}

extension TestServer {
    fileprivate func plainClient() throws -> HTTPClient {
        guard let endpoint = plainHTTPEndpoints.first else { throw RawClient.Failure(description: "no listener") }
        return HTTPClient(try RawClient(endpoint))
    }
}
