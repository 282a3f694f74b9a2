import Synchronization
import Testing
import TransferHTTP
import TransferIO
import TransferModel
import TransferProtocol
import TransferTestSupport

@testable import TransferServer

extension ServerTests {
    /// Refused requests and clients that vanish in the middle of one, after which the server still serves others.
    @Suite(.overEachStoreIfAsked) struct HTTPRefusalTests {
        @Test(arguments: [
            "/../x", "/a/../x", "/%2e%2e/x", "/%2E%2e/x", "/a%2fb", "/a%5cb", "/a%00b", "/%ff", "/.transfer/mail",
            "/.transfer", "/%2etransfer/x", "//x", "/a//b", "/%252e%252e/%252e%252e/../x",
        ])
        func pathsLeadNowhereElse(_ target: String) async throws {
            try await servingHTTP { server in
                for method in [HTTPMethod.get, .put, .delete] {
                    let answer = try HTTPClient(server).ask(method, target, [], method == .put ? [1] : nil)
                    #expect([400, 404].contains(answer.status), "\(method.name) \(target)")
                    #expect(answer["content-type"] == "application/problem+json")
                }
                #expect(server.tree == [] && server.parts == [])
                try server.checkServes()
            }
        }

        @Test(arguments: [
            ("GET / HTTP/1.1\r\n\r\n", 400), ("GET / HTTP/2.0\r\nHost: s\r\n\r\n", 505),
            ("PUT /x HTTP/1.1\r\nHost: s\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n", 400),
            ("PUT /x HTTP/1.1\r\nHost: s\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n", 400),
            ("PUT /x HTTP/1.1\r\nHost: s\r\nContent-Length: -1\r\n\r\n", 400),
            ("PUT /x HTTP/1.1\r\nHost: s\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n", 400),
            ("GET / HTTP/1.1\r\nHost: s\r\n folded: x\r\n\r\n", 400), ("GET / HTTP/1.1\nHost: s\n\n", 400),
            ("GET / HTTP/1.1\r\nHost: s\r\nExpect: something\r\n\r\n", 417),
            ("CONNECT s:1 HTTP/1.1\r\nHost: s\r\n\r\n", 501),
            ("BREW / HTTP/1.1\r\nHost: s\r\n\r\n", 405),
            ("PUT /x HTTP/1.1\r\nHost: s\r\nContent-Range: bytes 0-1/2\r\nContent-Length: 2\r\n\r\nab", 400),
        ])
        func whatCouldBeReadInTwoWaysIsRefused(_ request: String, _ status: Int) async throws {
            try await servingHTTP { server in
                let client = try HTTPClient(server)
                client.send(bytes: request)
                #expect(try client.answer().status == status)
                #expect(server.tree == [])
                try server.checkServes()
            }
        }

        /// An incomplete upload leaves no file, however its client vanishes.
        @Test func aVanishedClientLeavesNothing() async throws {
            try await servingHTTP { server in
                for text in ["PUT /x HTTP/1.1\r\nHost: s\r\nContent-Length: 100\r\n\r\nabc", "PUT /x HT", "P"] {
                    let client = try HTTPClient(server)
                    client.raw.send(Array(text.utf8))
                    client.raw.endSending()
                    _ = try? client.answer()
                }
                let client = try HTTPClient(server)
                client.send(bytes: "PUT /x HTTP/1.1\r\nHost: s\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nab", for: .put)
                client.raw.endSending()
                _ = try? client.answer()
                try server.waitUntil("nothing is left") { server.parts == [] }
                #expect(server.tree == [])
            }
        }

        /// Clients vanish at any byte and in any way. Their sessions end, and no other client waits for what they held.
        @Test func manyVanishedClientsLeaveTheServerInOrder() async throws {
            try await servingHTTP { server in
                let stream = Array(
                    ("PUT /v HTTP/1.1\r\nHost: s\r\nExpect: 100-continue\r\nTransfer-Encoding: chunked\r\n\r\n"
                        + "5;a=b\r\nhello\r\n0\r\n\r\nGET /v HTTP/1.1\r\nHost: s\r\nRange: bytes=0-1,3-4\r\n\r\n").utf8)
                for count in stream.indices {
                    for isHalfClosed in [true, false] {
                        let client = try server.client()
                        client.send(Array(stream[..<count]))
                        if isHalfClosed { client.endSending() }
                    }
                }
                try server.waitUntil("their sessions have ended") {
                    server.server.core.observability.connections.all.isEmpty
                }
                #expect(server.parts == [])
                try server.checkServes()
                #expect(try HTTPClient(server).ask(.get, "/still-serving").content == [1, 2, 3])
            }
        }

        @Test func requestsAreAnsweredInOrder() async throws {
            try await servingHTTP { server in
                let client = try HTTPClient(server)
                for number in 0..<50 {
                    client.send(.put, "/\(number)", [], [UInt8(number)])
                    client.send(.get, "/\(number)")
                }
                for number in 0..<50 {
                    #expect(try client.answer().status == 201)
                    #expect(try client.answer().content == [UInt8(number)])
                }
                client.send(.get, "/0", [("Connection", "close")])
                client.send(.get, "/1")
                #expect(try client.answer()["connection"] == "close")
                #expect(try client.isClosed())
            }
        }

        @Test func pagesOfOthersMayNotWrite() async throws {
            try await servingHTTP { server in
                let client = try HTTPClient(server)
                for origin in ["https://evil.example", "null", "https://server.evil", "https://server:1"] {
                    #expect(try client.ask(.put, "/x", [("Origin", origin)], [1]).status == 403)
                }
                #expect(server.tree == [])
                #expect(try client.ask(.put, "/x", [("Origin", "https://Server")], [1]).status == 201)
                #expect(try client.ask(.delete, "/x", [("Origin", "https://evil.example")]).status == 403)
                let allowed = try client.ask(.options, "/x", [("Origin", "https://evil.example")])
                #expect(allowed.status == 204 && allowed["access-control-allow-origin"] == nil)
            }
        }

        /// Files that were not stored through the server have a version too, and removals can have conditions.
        @Test func everyFileHasATagOfItsOwn() async throws {
            try await servingHTTP { server in
                let client = try HTTPClient(server)
                #expect(server.put([1, 2, 3], "found"))
                let first = try #require(try client.ask(.head, "/found")["etag"])
                #expect(server.put([1, 2, 3, 4], "found"))
                let second = try #require(try client.ask(.head, "/found")["etag"])
                #expect(first != second && first.utf8.count == 34)
                #expect(try client.ask(.delete, "/found", [("If-Match", first)]).status == 412)
                #expect(try client.ask(.put, "/found", [("If-Match", first)], [5]).status == 412)
                #expect(server.content("found") == [1, 2, 3, 4])
                #expect(try client.ask(.get, "/found", [("If-None-Match", second)])["content-length"] == nil)
                #expect(try client.ask(.delete, "/found", [("If-Match", second)]).status == 204)
                #expect(server.tree == [])
            }
        }

        /// The server does not pretend to have verified a digest that it cannot compare.
        @Test func digestsThatCannotBeComparedAreRefused() async throws {
            try await servingHTTP { server in
                let client = try HTTPClient(server)
                let digest = "sha-512=:" + Base64Text.encode([UInt8](repeating: 1, count: 64)) + ":"
                #expect(try client.ask(.put, "/x", [("Repr-Digest", digest)], [1]).status == 400)
                #expect(server.tree == [])
            }
        }

        /// The following bytes could be the withheld content or another request.
        @Test(arguments: ["GET", "HEAD", "DELETE", "OPTIONS"])
        func contentThatNobodyAskedForIsNoRequest(_ method: String) async throws {
            try await servingHTTP { server in
                let client = try HTTPClient(server)
                client.send(
                    bytes: "\(method) /x HTTP/1.1\r\nHost: s\r\nExpect: 100-continue\r\nContent-Length: 37\r\n\r\n",
                    for: HTTPMethod(method) ?? .get)
                #expect(try client.answer()["connection"] == "close")
                client.raw.send(Array("PUT /y HTTP/1.1\r\nHost: s\r\n\r\n".utf8))
                #expect(try client.isClosed() && server.tree == [])
            }
        }

        /// Some clients end their sending side and wait for answers. The server makes no more answers than the client
        /// takes.
        @Test func whoAsksForNothingMoreIsAnswered() async throws {
            try await servingHTTP { server in
                let content = SplitMix64.bytes(seed: 4, 256 << 10)
                #expect(try HTTPClient(server).ask(.put, "/x", [], content).status == 201)
                let client = try HTTPClient(server)
                for _ in 0..<100 { client.send(.get, "/x") }
                client.raw.endSending()
                for _ in 0..<100 {
                    let answer = try client.answer()
                    #expect(answer.isWhole && answer.content == content)
                    #expect(server.server.core.transport.unsent.load(ordering: .relaxed) <= 2 << 20)
                }
                #expect(try client.isClosed())
            }
        }

        /// The last request, and then the end of the connection, may reach the server while the pool still works on the
        /// first request.
        @Test(.oneServer) func theEndMayComeWhileMuchIsToBeDone() async throws {
            try await servingHTTP { server in
                let pool = server.server.core.transport.pool
                let (gate, haveSeen) = (Gate(), Flag())
                defer { gate.open() }
                for _ in 0..<pool.limit { pool.submit { gate.pass() } }
                try server.waitUntil("no thread is free") { gate.waiting == pool.limit }
                let client = try HTTPClient(server)
                client.send(.get, "/?json")
                try server.waitUntil("the first request waits for one") { pool.isContended }
                client.send(.get, "/?json")
                client.raw.endSending()
                Task {
                    for _ in 0..<20 { await server.server.visitLoops() }
                    haveSeen.set()
                }
                try server.waitUntil("the loops have seen the end") { haveSeen.isSet }
                gate.open()
                for _ in 0..<2 { #expect(try client.answer().status == 200) }
                #expect(try client.isClosed())
            }
        }

        @Test func largeFoldersAreRemoved() async throws {
            try await servingHTTP { server in
                let client = try HTTPClient(server)
                for number in 0..<1100 { client.send(.put, "/d/\(number)", [], []) }
                for _ in 0..<1100 { #expect(try client.answer().status == 201) }
                #expect(try client.ask(.delete, "/d/").status == 204)
                #expect(server.tree == [])
                #expect(try client.ask(.delete, "/d/").status == 404)
            }
        }

        @Test func anOldClientIsServed() async throws {
            try await servingHTTP { server in
                _ = try HTTPClient(server).ask(.put, "/x", [], [1, 2])
                for target in ["/x", "/"] {
                    let client = try HTTPClient(server)
                    client.send(bytes: "GET \(target) HTTP/1.0\r\n\r\n")
                    let answer = try client.answer()
                    #expect(answer.status == 200 && answer["connection"] == "close" && answer.isWhole)
                    #expect(answer["transfer-encoding"] == nil)
                }
            }
        }

        @Test func tooMuchIsRefusedBeforeItComes() async throws {
            try await servingHTTP({ $0.maximumUpload = 10 }) { server in
                let client = try HTTPClient(server)
                client.send(bytes: "PUT /x HTTP/1.1\r\nHost: s\r\nContent-Length: 1000000\r\n\r\n", for: .put)
                #expect(try client.answer().status == 413)
                let chunked = try HTTPClient(server)
                chunked.send(
                    bytes: "PUT /x HTTP/1.1\r\nHost: s\r\nTransfer-Encoding: chunked\r\n\r\nb\r\n01234567890\r\n",
                    for: .put)
                #expect(try chunked.answer().status == 413)
                #expect(server.tree == [] && server.parts == [])
            }
        }
    }
}
