import Testing
import TransferHTTP
import TransferModel
import TransferSystem
import TransferTestSupport

@testable import TransferServer

extension ServerTests {
    /// A new endpoint consists of a file with its handler and a row of the table.
    @Suite struct HTTPEndpointTests {
        private func servingCount(_ body: @escaping @Sendable (TestServer) throws -> Void) async throws {
            var foundations = ServerFoundations()
            foundations.router = HTTPRouter(routes: HTTPRouter.standard.routes + [CountHandler.row])
            try await serving({ $0.http = .on }, on: foundations, body)
        }

        @Test func aHandlerAnswersAtOnce() async throws {
            try await servingCount { server in
                let client = try HTTPClient(server)
                let answer = try client.ask(.get, "/.transfer/count")
                #expect(answer.status == 200 && answer.text == "0\n" && answer.isWhole)
                #expect(try client.ask(.put, "/.transfer/count", [], [1])["allow"] == "GET, POST")
            }
        }

        @Test func aReceiverTakesTheContent() async throws {
            try await servingCount { server in
                let client = try HTTPClient(server)
                for count in [0, 1, 300_000] {
                    let content = [UInt8](repeating: 1, count: count)
                    #expect(try client.ask(.post, "/.transfer/count", [], content).text == "\(count)\n")
                }
                // Files are stored as before.
                #expect(try client.ask(.put, "/a", [], [1, 2, 3]).status == 201)
                #expect(server.content("a") == [1, 2, 3])
            }
        }

        @Test func aClientThatWaitsForAHundredGetsIt() async throws {
            try await servingCount { server in
                let client = try HTTPClient(server)
                client.send(
                    bytes: "POST /.transfer/count HTTP/1.1\r\nHost: server\r\nExpect: 100-continue\r\n"
                        + "Content-Length: 3\r\n\r\n", for: .post)
                #expect(try client.interim().status == 100)
                client.raw.send(Array("abc".utf8))
                #expect(try client.answer().text == "3\n")
            }
        }

        @Test func aReceiverRefusesInTheMiddle() async throws {
            try await servingCount { server in
                let client = try HTTPClient(server)
                let answer = try client.ask(.post, "/.transfer/count", [], [UInt8](repeating: 1, count: 1 << 20 + 1))
                #expect(answer.status == 413 && answer.text.contains("too much to count"))
                // The client may still send much of the content.
                #expect(answer["connection"] == "close")
            }
        }

        @Test func withoutTheRowThePathIsThatOfAFile() async throws {
            try await servingHTTP { server in
                let client = try HTTPClient(server)
                #expect(try client.ask(.get, "/.transfer/count").status == 400)
            }
        }
    }
}
