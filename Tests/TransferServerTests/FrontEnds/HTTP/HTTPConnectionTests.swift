import CLinux
import Glibc
import Testing
import TransferHTTP
import TransferProtocol
import TransferTestSupport

@testable import TransferServer

extension ServerTests {
    /// Requirements of RFC 9110 and RFC 9112 on connections and heads.
    @Suite struct HTTPConnectionTests {
        private func serving(_ http: HTTPUse = .on, _ body: @escaping @Sendable (TestServer) throws -> Void)
            async throws
        {
            try await TransferServerTests.serving({ $0.http = http }, body)
        }

        @Test(arguments: [HTTPUse.on, .only], ["\r\n", "\r\n\r\n"])
        func emptyLinesMayComeFirst(_ http: HTTPUse, _ lines: String) async throws {
            try await serving(http) { server in
                let client = try HTTPClient(server)
                // Byte by byte, so that each byte may be the only one received so far.
                for byte in lines.utf8 {
                    client.raw.send([byte])
                    #expect(!client.raw.hasAnswer(within: 1))
                }
                #expect(try client.ask(.put, "/x", [], [1]).status == 201)
                #expect(try client.ask(.get, "/x").content == [1])
                if http == .on { try server.checkServes() }
            }
        }

        @Test(arguments: ["\n", "\rG", "\r\n\r\n\r\n"]) func otherBeginningsAreNone(_ opening: String) async throws {
            let frontEnd = HTTPFrontEnd()
            #expect(frontEnd.recognise(Array(opening.utf8)) != .yes)
            #expect(opening.utf8.count <= frontEnd.openingSize + 1)
        }

        @Test func aRedirectionKeepsTheQuery() async throws {
            try await serving { server in
                let client = try HTTPClient(server)
                _ = try client.ask(.put, "/d%20e/x", [], [1])
                #expect(try client.ask(.get, "/d%20e?json&a=%20b")["location"] == "/d%20e/?json&a=%20b")
                #expect(try client.ask(.get, "/d%20e")["location"] == "/d%20e/")
            }
        }

        @Test(.directoryOnly) func nothingWasModifiedAfterTheAnswer() async throws {
            try await serving { server in
                let client = try HTTPClient(server)
                _ = try client.ask(.put, "/x", [], [1])
                let future = timespec(tv_sec: time(nil) + 100_000, tv_nsec: 0)
                #expect(utimensat(AT_FDCWD, server.directory.path("store/x"), [future, future], 0) == 0)
                for method in [HTTPMethod.get, .head] {
                    let answer = try client.ask(method, "/x")
                    let modified = try #require(answer["last-modified"].flatMap { HTTPDate($0.utf8, now: .now) })
                    let date = try #require(answer["date"].flatMap { HTTPDate($0.utf8, now: .now) })
                    #expect(modified <= date)
                }
            }
        }

        @Test func anOldClientHearsThatItMayGoOn() async throws {
            try await serving { server in
                let client = try HTTPClient(server)
                _ = try client.ask(.put, "/x", [], [1])
                for _ in 0..<2 {
                    client.send(bytes: "GET /x HTTP/1.0\r\nConnection: keep-alive\r\n\r\n")
                    let answer = try client.answer()
                    #expect(answer["connection"] == "keep-alive" && answer.content == [1])
                }
                client.send(bytes: "GET /none HTTP/1.0\r\nConnection: keep-alive\r\n\r\n")
                #expect(try client.answer()["connection"] == "keep-alive")
                // If only the end of the connection can mark the end of the answer, the connection is closed.
                client.send(bytes: "GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n")
                #expect(try client.answer()["connection"] == "close")
                #expect(try client.isClosed())
            }
        }
    }
}
