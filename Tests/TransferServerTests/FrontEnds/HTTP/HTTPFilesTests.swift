import Synchronization
import Testing
import TransferHTTP
import TransferIO
import TransferModel
import TransferProtocol
import TransferPorts
import TransferStore
import TransferTestSupport

@testable import TransferServer

extension ServerTests {
    /// Files over HTTP on a server that speaks its own protocol on the same port.
    @Suite(.overEachStoreIfAsked) struct HTTPFilesTests {
        private static let content = Array("what is stored, over HTTP\n".utf8)

        /// A removal with a condition removes the version for which the condition was checked, and no later one.
        @Test func whatIsStoredBehindAConditionStays() async throws {
            try await servingHTTP { server in
                let client = try HTTPClient(server)
                #expect(try client.ask(.put, "/x", [], [1]).status == 201)
                let files = ConnectionFiles(WorkerResources(server.server.core))
                let place = try RelativePath("x")
                func version(_ tag: String?) throws -> FileVersion? {
                    var fields = HTTPFields()
                    if let tag { fields.append(HTTPField(name: "If-Match", value: Array(tag.utf8))) }
                    return try HTTPConditions(try Preconditions(fields, now: .now), on: place).version(files)
                }
                #expect(try version(nil) == nil)
                #expect(throws: HTTPFault.self) { try version("\"other\"") }
                let held = try #require(try version("*"))
                #expect(try client.ask(.put, "/x", [], [2]).status == 200)
                let error = #expect(throws: Failure.self) {
                    try files.beginRemoval(of: place, isRecursive: false, version: held)
                }
                #expect(error?.code == .fileChanged && server.content("x") == [2])
            }
        }

        @Test(.directoryOnly, arguments: FileChange.allCases) func aFileThatIsReplacedMeanwhileIsSentWhole(
            _ change: FileChange
        )
            async throws
        {
            try await servingHTTP { server in
                let path = server.directory.path("store/big")
                let content = [UInt8](repeating: 1, count: 32 << 20)
                #expect(TestServer.write(content, path))
                let client = try HTTPClient(server)
                client.send(.get, "/big")
                #expect(try client.head().status == 200)
                // The server has not sent all of the file, since the client does not read.
                #expect(change.make(path))
                var found: [UInt8] = []
                while let piece = try client.content() { found += piece }
                #expect(found == content)
            }
        }

        // MARK: Uploads

        @Test func whatIsPutIsStoredAndFound() async throws {
            try await servingHTTP { server in
                let client = try HTTPClient(server)
                let answer = try client.ask(.put, "/a/b%20c.txt", [], Self.content)
                #expect(answer.status == 201 && answer["location"] == "/a/b%20c.txt")
                #expect(answer["transfer-result"] == "committed")
                #expect(server.content("a/b c.txt") == Self.content)
                let tag = try #require(answer["etag"])
                #expect(
                    answer.text.contains("\"schema\":\"transfer.upload/1\"") && answer.text.contains("\"durable\":true")
                )
                #expect(answer["repr-digest"]?.hasPrefix("sha-256=:") ?? false)
                // The request declared no digest to compare the content with.
                #expect(answer.text.contains("\"verified\":false"))
                let found = try client.ask(.get, "/a/b%20c.txt")
                #expect(found.status == 200 && found.content == Self.content && found["etag"] == tag)
                // The same content changes nothing, and other content replaces the file.
                #expect(try client.ask(.put, "/a/b%20c.txt", [], Self.content).status == 200)
                let replaced = try client.ask(.put, "/a/b%20c.txt", [], [1])
                #expect(replaced.status == 200 && replaced.text.contains("\"replaced\":true"))
                #expect(server.content("a/b c.txt") == [1] && server.tree == ["a", "a/b c.txt"])
                #expect(server.parts == [])
                try server.checkServes()
            }
        }

        @Test func anEmptyFileIsAFile() async throws {
            try await servingHTTP { server in
                let client = try HTTPClient(server)
                #expect(try client.ask(.put, "/empty", [], []).status == 201)
                #expect(try client.ask(.put, "/none").status == 201)
                #expect(server.content("empty") == [] && server.content("none") == [])
                #expect(try client.ask(.get, "/empty").content == [])
            }
        }

        @Test func chunksAreOneFile() async throws {
            try await servingHTTP { server in
                let client = try HTTPClient(server)
                client.send(
                    bytes:
                        "PUT /x HTTP/1.1\r\nHost: s\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n2;a=b\r\nde\r\n0\r\n\r\n",
                    for: .put)
                #expect(try client.answer().status == 201)
                #expect(server.content("x") == Array("abcde".utf8))
            }
        }

        /// Long enough for many buffers and several blocks, with and without chunks.
        @Test(arguments: [true, false]) func longFilesComeWhole(_ isChunked: Bool) async throws {
            try await servingHTTP { server in
                let client = try HTTPClient(server)
                let long = SplitMix64.bytes(seed: 18, 9 << 20)
                if isChunked {
                    client.send(bytes: "PUT /long HTTP/1.1\r\nHost: s\r\nTransfer-Encoding: chunked\r\n\r\n", for: .put)
                    for start in stride(from: 0, to: long.count, by: 1 << 20) {
                        client.raw.send(Array("100000\r\n".utf8) + long[start..<start + (1 << 20)] + Array("\r\n".utf8))
                    }
                    client.raw.send(Array("0\r\n\r\n".utf8))
                    #expect(try client.answer().status == 201)
                } else {
                    #expect(try client.ask(.put, "/long", [], long).status == 201)
                }
                #expect(server.content("long") == long)
                let found = try client.ask(.get, "/long")
                #expect(found.isWhole && found.content == long)
            }
        }

        @Test func whoExpectsAWordGetsIt() async throws {
            try await servingHTTP { server in
                let client = try HTTPClient(server)
                client.send(
                    bytes: "PUT /x HTTP/1.1\r\nHost: s\r\nExpect: 100-continue\r\nContent-Length: 3\r\n\r\n", for: .put)
                #expect(try client.interim().status == 100)
                client.raw.send([1, 2, 3])
                #expect(try client.answer().status == 201)
                // The server refuses this upload and does not ask for the content. The following bytes could be the
                // content or not.
                client.send(
                    bytes: "PUT /.transfer/x HTTP/1.1\r\nHost: s\r\nExpect: 100-continue\r\nContent-Length: 3\r\n\r\n",
                    for: .put)
                let refused = try client.answer()
                #expect(refused.status == 400 && refused["connection"] == "close")
                #expect(try client.isClosed())
            }
        }

        @Test func aWrongDigestIsNotStored() async throws {
            try await servingHTTP { server in
                let client = try HTTPClient(server)
                let right = "sha-256=:ungWv48Bz+pBQUDeXa4iI7ADYaOWF3qctBD/YfIAFa0=:"
                let abc = Array("abc".utf8)
                for name in ["Repr-Digest", "Content-Digest"] {
                    let wrong = try client.ask(.put, "/x", [(name, right)], Array("abd".utf8))
                    #expect(wrong.status == 422 && wrong["content-type"] == "application/problem+json")
                    #expect(wrong.text.contains("\"result\":\"digestMismatch\""))
                    #expect(server.tree == [])
                    let answer = try client.ask(.put, "/x", [(name, right)], abc)
                    #expect(answer.status == 201 && answer["repr-digest"] == right)
                    #expect(answer.text.contains("\"verified\":true"))
                    #expect(try client.ask(.delete, "/x").status == 204)
                }
                // The digest may be in a trailer as well.
                client.send(
                    bytes: "PUT /x HTTP/1.1\r\nHost: s\r\nTransfer-Encoding: chunked\r\nTrailer: Repr-Digest\r\n\r\n"
                        + "3\r\nabd\r\n0\r\nRepr-Digest: \(right)\r\n\r\n", for: .put)
                #expect(try client.answer().status == 422)
                #expect(server.tree == [] && server.parts == [])
            }
        }

        /// Sending the content again would not help.
        @Test(arguments: ["sha-512=:AAAA:", "sha-256=:AAAA:", "nonsense"])
        func aTrailerThatCannotBeComparedIsNoOtherDigest(field: String) async throws {
            try await servingHTTP { server in
                let client = try HTTPClient(server)
                client.send(
                    bytes: "PUT /x HTTP/1.1\r\nHost: s\r\nTransfer-Encoding: chunked\r\nTrailer: Repr-Digest\r\n\r\n"
                        + "3\r\nabc\r\n0\r\nRepr-Digest: \(field)\r\n\r\n", for: .put)
                let answer = try client.answer()
                #expect(answer.status == 400 && answer.text.contains("malformedFrame"))
                #expect(server.tree == [] && server.parts == [])
            }
        }

        /// Two clients send complete uploads with one condition at the same time. One of them has read the file that it
        /// replaces, and the other is refused. A replaced file gets a second name in the trash, which must not count as
        /// a change of the file.
        @Test(arguments: ["If-Match", "If-None-Match"], [false, true])
        func oneOfTwoClientsWins(_ condition: String, keepsReplaced: Bool) async throws {
            try await servingHTTP {
                $0.trash = keepsReplaced
            } _: { server in
                let clients = try (0..<2).map { _ in try HTTPClient(server) }
                for round in 0..<20 {
                    var value = "*"
                    if condition == "If-Match" {
                        #expect(try clients[0].ask(.put, "/x", [], [UInt8(round)]).status < 300)
                        value = try #require(try clients[0].ask(.head, "/x")["etag"])
                    }
                    let path = condition == "If-Match" ? "/x" : "/x\(round)"
                    let content = [UInt8](repeating: UInt8(round), count: 1000)
                    for client in clients {
                        client.send(
                            bytes: "PUT \(path) HTTP/1.1\r\nHost: s\r\n\(condition): \(value)\r\n"
                                + "Content-Length: \(content.count)\r\n\r\n", for: .put)
                    }
                    for client in clients { client.raw.send(content) }
                    let statuses = try clients.map { try $0.answer().status }
                    // A server that has lost a race against another one has the client try again.
                    let refused = statuses.count { $0 == 412 || server.isCluster && $0 == 503 }
                    #expect(refused == 1 && statuses.count { $0 < 300 } == 1, "\(statuses)")
                }
            }
        }

        @Test(arguments: [false, true]) func conditionsKeepWhatIsThere(keepsReplaced: Bool) async throws {
            try await servingHTTP {
                $0.trash = keepsReplaced
            } _: { server in
                let client = try HTTPClient(server)
                #expect(try client.ask(.put, "/x", [("If-Match", "\"a\"")], [1]).status == 412)
                #expect(try client.ask(.put, "/x", [("If-None-Match", "*")], [1]).status == 201)
                let again = try client.ask(.put, "/x", [("If-None-Match", "*")], [2])
                #expect(again.status == 412 && server.content("x") == [1])
                let tag = try #require(try client.ask(.head, "/x")["etag"])
                #expect(try client.ask(.put, "/x", [("If-Match", tag)], [3]).status == 200)
                #expect(try client.ask(.put, "/x", [("If-Match", tag)], [4]).status == 412)
                #expect(server.content("x") == [3])
                #expect(try client.ask(.put, "/x?on-conflict=keep-both", [], [5]).status == 201)
                #expect(try client.ask(.put, "/x?on-conflict=fail", [], [6]).status == 409)
                #expect(try client.ask(.put, "/x?on-conflict=skip", [], [6]).status == 409)
                #expect(try client.ask(.put, "/x?on-conflict=other", [], [6]).status == 400)
                #expect(server.tree == ["x", "x-1"] && server.content("x-1") == [5])
            }
        }

        // MARK: Reading

        @Test func rangesAreWhatWasAskedFor() async throws {
            try await servingHTTP { server in
                let client = try HTTPClient(server)
                let tag = try #require(try client.ask(.put, "/x", [], Array(0..<100))["etag"])
                let part = try client.ask(.get, "/x", [("Range", "bytes=10-19")])
                #expect(
                    part.status == 206 && part.content == Array(10..<20) && part["content-range"] == "bytes 10-19/100")
                #expect(try client.ask(.get, "/x", [("Range", "bytes=90-")]).content == Array(90..<100))
                #expect(try client.ask(.get, "/x", [("Range", "bytes=-5")]).content == Array(95..<100))
                #expect(try client.ask(.get, "/x", [("Range", "bytes=-5"), ("If-Range", tag)]).status == 206)
                let changed = try client.ask(.get, "/x", [("Range", "bytes=-5"), ("If-Range", "\"other\"")])
                #expect(changed.status == 200 && changed.content == Array(0..<100))
                let none = try client.ask(.get, "/x", [("Range", "bytes=100-")])
                #expect(none.status == 416 && none["content-range"] == "bytes */100")
                let several = try client.ask(.get, "/x", [("Range", "bytes=0-1,50-52")])
                #expect(several.status == 206 && several.isWhole)
                #expect(several["content-type"]?.hasPrefix("multipart/byteranges; boundary=") ?? false)
                #expect(several.content.count == Int(several["content-length"] ?? ""))
                let thousand = (0..<1000).map { _ in "0-" }.joined(separator: ",")
                #expect(try client.ask(.get, "/x", [("Range", "bytes=\(thousand)")]).status == 200)
                let head = try client.ask(.head, "/x", [("Range", "bytes=10-19")])
                #expect(head.status == 200 && head["content-length"] == "100" && head.content == [])
            }
        }

        @Test func whoHasItIsToldSo() async throws {
            try await servingHTTP { server in
                let client = try HTTPClient(server)
                _ = try client.ask(.put, "/x", [], [1, 2, 3])
                let found = try client.ask(.get, "/x")
                let (tag, time) = (try #require(found["etag"]), try #require(found["last-modified"]))
                let same = try client.ask(.get, "/x", [("If-None-Match", tag)])
                #expect(same.status == 304 && same.content == [] && same["etag"] == tag)
                #expect(try client.ask(.get, "/x", [("If-Modified-Since", time)]).status == 304)
                #expect(try client.ask(.get, "/x", [("If-None-Match", "\"other\"")]).status == 200)
                #expect(try client.ask(.get, "/x", [("If-Match", "\"other\"")]).status == 412)
                _ = try client.ask(.put, "/x", [], [4])
                #expect(try client.ask(.get, "/x", [("If-None-Match", tag)]).content == [4])
            }
        }

        /// Stored pages must not run in browsers, and browsers must not guess which files are pages.
        @Test func nothingThatIsStoredBecomesAPage() async throws {
            try await servingHTTP { server in
                let client = try HTTPClient(server)
                for name in ["x.html", "x.svg", "x", "x.js", "x.xml"] {
                    _ = try client.ask(.put, "/" + name, [], Array("<script>alert(1)</script>".utf8))
                    let found = try client.ask(.get, "/" + name)
                    #expect(found["x-content-type-options"] == "nosniff")
                    #expect(found["content-security-policy"]?.hasPrefix("sandbox;") ?? false)
                    // The page shows files in a frame; pages of other sites must not.
                    #expect(found["x-frame-options"] == "SAMEORIGIN")
                    #expect(!(found["content-type"] ?? "html").contains("html"))
                    #expect(!(found["content-type"] ?? "svg").contains("svg"))
                }
            }
        }

        /// The browser's viewer shows a PDF in a frame of the page.
        @Test func aPDFIsShownInTheBrowser() async throws {
            try await servingHTTP { server in
                let client = try HTTPClient(server)
                _ = try client.ask(.put, "/x.PDF", [], Array("%PDF-1.7".utf8))
                let found = try client.ask(.get, "/x.PDF")
                #expect(found["content-type"] == "application/pdf" && found["x-frame-options"] == "SAMEORIGIN")
                #expect(found["content-disposition"]?.hasPrefix("inline") ?? false)
            }
        }

        /// The server never sends decayed content as complete.
        @Test(.directoryOnly) func whatHasDecayedIsCut() async throws {
            try await servingHTTP { server in
                let client = try HTTPClient(server)
                let long = SplitMix64.bytes(seed: 3, 1 << 20)
                _ = try client.ask(.put, "/x", [], long)
                try server.decay("x", at: 77)
                let found = try client.ask(.get, "/x")
                #expect(!found.isWhole && found.content.count < long.count)
                let again = try HTTPClient(server).ask(.get, "/x")
                #expect(again.status == 500 && again.text.contains("\"result\":\"contentLost\""))
                try server.checkServes()
            }
        }

        /// After an answer that was cut off, the client would read the next answer as its rest.
        @Test(.directoryOnly, arguments: [1 << 10, 1 << 20]) func nothingIsSaidBehindWhatIsCut(_ size: Int) async throws
        {
            try await servingHTTP { server in
                let client = try HTTPClient(server)
                let whole = Array(repeating: UInt8(ascii: "w"), count: size)
                _ = try client.ask(.put, "/x", [], SplitMix64.bytes(seed: 3, size))
                _ = try client.ask(.put, "/y", [], whole)
                try server.decay("x", at: 77)
                client.send(.get, "/x")
                for _ in 0..<8 { client.send(.get, "/y") }
                let found = try client.answer()
                #expect(found.status == 200 && !found.isWhole && found.content.count < size)
                #expect(!found.text.contains("wwww"))
                try server.checkServes()
            }
        }

        // MARK: Folders

        @Test func foldersAreListed() async throws {
            try await servingHTTP { server in
                let client = try HTTPClient(server)
                #expect(try client.ask(.get, "/").text.contains("This folder is empty."))
                for name in ["b", "a%3Cb%3E%22.txt", "d/e"] { _ = try client.ask(.put, "/" + name, [], [1]) }
                let moved = try client.ask(.get, "/d")
                #expect(moved.status == 301 && moved["location"] == "/d/")
                let page = try client.ask(.get, "/")
                #expect(page.isWhole && page["content-type"] == "text/html; charset=utf-8")
                #expect(page.text.contains("a&lt;b&gt;&quot;.txt") && page.text.contains("href=\"./d/\""))
                #expect(!page.text.contains("<b>") && !page.text.contains(".transfer"))
                let chinese = try client.ask(.get, "/d/", [("Accept-Language", "zh-CN,en;q=0.5")])
                #expect(chinese.text.contains("<html lang=\"zh\">") && chinese.text.contains("./e"))
                let lines = try client.ask(.get, "/", [("Accept", "application/x-ndjson")]).text
                #expect(lines.split(separator: "\n").count == 3 && lines.contains("\"schema\":\"transfer.entry/1\""))
                let array = try client.ask(.get, "/?json")
                #expect(array["content-type"] == "application/json" && array.text.hasPrefix("[\n{"))
                #expect(try client.ask(.head, "/").content == [])
                #expect(try client.ask(.get, "/none/").status == 404)
                #expect(try client.ask(.get, "/b/").status == 409)
            }
        }

        @Test func whatIsRemovedIsGone() async throws {
            try await servingHTTP { server in
                let client = try HTTPClient(server)
                _ = try client.ask(.put, "/d/e", [], [1])
                #expect(try client.ask(.delete, "/d").status == 409)
                #expect(try client.ask(.delete, "/d/").status == 204)
                #expect(server.tree == [])
                #expect(try client.ask(.delete, "/d/").status == 404)
                #expect(try client.ask(.delete, "/").status == 400)
            }
        }
    }
}
