import Testing
import TransferHTTP
import TransferModel
import TransferProtocol
import TransferPorts
import TransferStore
import TransferTestSupport

@testable import TransferServer

extension ServerTests {
    /// Requests of programs that monitor a server.
    @Suite(.oneServer) struct HTTPProbeTests {
        @Test func whoeverAsksIsTold() async throws {
            let directory = try TemporaryDirectory()
            let change = { @Sendable (configuration: inout ServerConfiguration) in
                configuration.security = .identity
                configuration.access = .listed(owner: nil)
                configuration.http = .on
            }
            try await serving(change, in: directory) { server in
                let client = try HTTPClient(server, isSecured: true)
                let health = try client.ask(.get, "/healthz")
                #expect(health.status == 200 && health.text == "ok\n")
                #expect(try client.ask(.head, "/healthz").status == 200)
                let readiness = try client.ask(.get, "/readyz?verbose")
                #expect(readiness.status == 200 && readiness.text == "ready\n")
                #expect(try client.ask(.put, "/healthz", [], [1]).status == 405)
                // The probes reveal nothing else and leave no files.
                #expect(try client.ask(.get, "/healthz/").status == 401)
                #expect(try client.ask(.get, "/").status == 401)
                #expect(server.tree == [])
            }
        }

        @Test func aServerWithoutRoomIsNotReady() async throws {
            try await serving({
                $0.http = .on
                $0.space.quota = 4
            }) { server in
                let client = try HTTPClient(server)
                #expect(try client.ask(.get, "/readyz").status == 200)
                #expect(try client.ask(.put, "/x", [], [1, 2, 3, 4]).status == 201)
                let answer = try client.ask(.get, "/readyz")
                #expect(answer.status == 503 && answer["content-type"] == "application/problem+json")
                #expect(answer.text.contains("\"reasons\":[\"quotaExceeded\"]"))
                #expect(try client.ask(.get, "/healthz").status == 200)
            }
        }

        @Test func aServerThatStopsIsNotReady() async throws {
            try await serving({ $0.http = .on }) { server in
                let (client, uploading) = (try HTTPClient(server), try HTTPClient(server))
                uploading.send(
                    bytes: "PUT /x HTTP/1.1\r\nHost: s\r\nExpect: 100-continue\r\nContent-Length: 1\r\n\r\n", for: .put)
                #expect(try uploading.interim().status == 100)
                #expect(try client.ask(.get, "/readyz").status == 200)
                // The request begins before the server stops, so that its connection is not closed between requests.
                client.send(bytes: "GET /readyz HTTP/1.1\r\nHost: s\r\nContent-Length: 1\r\n", for: .get)
                let hasSeen = Flag()
                Task {
                    for _ in 0..<20 { await server.server.visitLoops() }
                    hasSeen.set()
                }
                try server.waitUntil("the loops have seen its beginning") { hasSeen.isSet }
                server.beginShutDown()
                server.waitUntilClosed()
                client.raw.send(Array("\r\na".utf8))
                let answer = try client.answer()
                #expect(answer.status == 503 && answer.text.contains("\"reasons\":[\"stopping\"]"))
                uploading.raw.send([1])
                #expect(try uploading.answer().status == 201)
            }
        }
    }
}
