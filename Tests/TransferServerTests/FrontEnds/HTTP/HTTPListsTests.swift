import Testing
import TransferCodec
import TransferHTTP
import TransferModel
import TransferTestSupport

@testable import TransferServer

extension ServerTests {
    /// Lists of changes and of files, as a page sends them.
    @Suite(.overEachStore) struct HTTPListsTests {
        private static let json = ("Content-Type", "application/json")

        /// Posts a list, and reads the lines of the answer.
        private static func post(_ client: HTTPClient, _ name: String, _ list: String) throws -> [JSONNode] {
            let answer = try client.ask(.post, "/.transfer/\(name)", [json], Array(list.utf8))
            guard answer.status == 200, answer["content-type"] == "application/x-ndjson" else {
                Issue.record("\(answer.status) \(answer.text)")
                return []
            }
            return try answer.lines
        }

        private static func change(_ client: HTTPClient, _ changes: String...) throws -> [JSONNode] {
            try post(client, "changes", "[\(changes.joined(separator: ","))]")
        }

        private static func results(_ lines: [JSONNode]) -> [String?] { lines.map { $0.text("result") } }

        @Test func changesAreMadeInTheirOrder() async throws {
            try await servingHTTP { server in
                let client = try HTTPClient(server)
                #expect(server.put([1], "a"))
                let lines = try Self.change(
                    client, #"{"change":"mkdir","path":"d/e"}"#, #"{"change":"move","path":"a","target":"d/a"}"#,
                    #"{"change":"copy","path":"d/a","target":"d/b"}"#, #"{"change":"move","path":"d/b","target":"c"}"#)
                #expect(Self.results(lines) == ["completed", "completed", "completed", "completed"])
                #expect(lines.map { $0.text("path") } == ["d/e", "a", "d/a", "d/b"])
                #expect(lines.map { $0.text("target") } == [nil, "d/a", "d/b", "c"])
                #expect(lines.map { $0.text("form") } == [nil, nil, "file", nil])
                #expect(lines.allSatisfy { $0["durable"] == .bool(true) })
                #expect(lines.allSatisfy { $0.text("schema") == "transfer.change/1" && $0["trash"] == .null })
                #expect(server.tree == ["c", "d", "d/a", "d/e"] && server.content("c") == [1])
            }
        }

        /// What is removed can be had back, under its path or another one, with the batch that the answer names.
        @Test func whatIsRemovedIsRestored() async throws {
            try await servingHTTP { server in
                let client = try HTTPClient(server)
                for (path, byte) in [("a", UInt8(1)), ("f/b", 2), ("f/c", 3)] {
                    #expect(try client.ask(.put, "/\(path)", [], [byte]).status == 201)
                }
                let removed = try Self.change(
                    client, #"{"change":"remove","path":"a"}"#, #"{"change":"remove","path":"f","recursive":true}"#)
                #expect(Self.results(removed) == ["completed", "completed"] && server.tree == [])
                let batch = try #require(removed[0].text("trash"))
                #expect(removed[1].text("trash") == batch)
                let restored = try Self.change(
                    client, #"{"change":"restore","trash":"\#(batch)","path":"a"}"#,
                    #"{"change":"restore","trash":"\#(batch)","path":"f/b","target":"g"}"#,
                    #"{"change":"restore","trash":"\#(batch)","path":"missing"}"#)
                #expect(Self.results(restored) == ["completed", "completed", "notFound"])
                #expect(restored[0].text("target") == "a")
                #expect(server.tree == ["a", "g"] && server.content("a") == [1] && server.content("g") == [2])
            }
        }

        @Test func theTrashIsListed() async throws {
            try await servingHTTP { server in
                let client = try HTTPClient(server)
                #expect(try client.ask(.get, "/.transfer/trash/").text == "[]\n")
                #expect(try client.ask(.put, "/f/b", [], [1, 2]).status == 201)
                let removed = try Self.change(client, #"{"change":"remove","path":"f","recursive":true}"#)
                let batch = try #require(removed[0].text("trash"))
                let batches = try client.ask(.get, "/.transfer/trash/")
                #expect(batches.text.contains(#"[{"batch":"\#(batch)","removed":"20"#))
                let top = try client.ask(.get, "/.transfer/trash/\(batch)/")
                #expect(top.text.contains(#""path":"f","type":"directory""#))
                let inside = try client.ask(
                    .get, "/.transfer/trash/\(batch)/f/", [("Accept", "application/x-ndjson")])
                #expect(try inside.lines.map { $0.text("path") } == ["f/b"])
                for path in ["nothing", "\(batch)/x", "\(batch)/../../"] {
                    let status = try client.ask(.get, "/.transfer/trash/\(path)").status
                    #expect(path.contains("..") ? status == 400 : status == 404, "\(path)")
                }
                #expect(try client.ask(.get, "/.transfer/trash/\(batch)/f/b").status == 409)
            }
        }

        /// A change that fails says why, and the others are made.
        @Test func eachChangeHasItsResult() async throws {
            try await servingHTTP { server in
                let client = try HTTPClient(server)
                #expect(server.put([1], "a") && server.put([2], "b"))
                let lines = try Self.change(
                    client, #"{"change":"move","path":"a","target":"b"}"#, #"{"change":"mkdir","path":"../x"}"#,
                    #"{"change":"remove","path":".transfer"}"#, #"{"change":"copy","path":"nothing","target":"x"}"#,
                    #"{"change":"copy","path":"a","target":"b"}"#, #"{"change":"mkdir","path":"d"}"#,
                    #"{"change":"remove","path":"d"}"#)
                #expect(
                    Self.results(lines) == [
                        "pathConflict", "invalidPath", "invalidPath", "notFound", "pathConflict", "completed",
                        "wrongForm",
                    ])
                #expect(
                    lines.allSatisfy { ($0.text("message")?.isEmpty == true) == ($0.text("result") == "completed") })
                #expect(server.tree == ["a", "b", "d"])
            }
        }

        /// A replaced file is in the trash if the server keeps what is replaced.
        @Test func whatIsReplacedIsKept() async throws {
            try await servingHTTP({ $0.trash = true }) { server in
                let client = try HTTPClient(server)
                for (name, byte) in [("a", UInt8(1)), ("b", 2), ("c", 3)] { #expect(server.put([byte], name)) }
                let lines = try Self.change(
                    client, #"{"change":"move","path":"a","target":"b","replace":true}"#,
                    #"{"change":"copy","path":"b","target":"c","replace":true}"#)
                #expect(Self.results(lines) == ["completed", "completed"])
                #expect(server.tree == ["b", "c"] && server.content("c") == [1])
                for (line, path) in zip(lines, ["b", "c"]) {
                    let batch = try #require(line.text("trash"))
                    let back = try Self.change(
                        client, #"{"change":"restore","trash":"\#(batch)","path":"\#(path)","target":"old-\#(path)"}"#)
                    #expect(Self.results(back) == ["completed"])
                }
                #expect(server.content("old-b") == [2] && server.content("old-c") == [3])
            }
        }

        /// A file that is not the one that the client has seen stays as it is.
        @Test func aChangeCanBeLimitedToAVersion() async throws {
            try await servingHTTP { server in
                let client = try HTTPClient(server)
                let tag = try #require(try client.ask(.put, "/a", [], [1])["etag"]).replacing("\"", with: "\\\"")
                #expect(try client.ask(.put, "/a", [], [2]).status == 200)
                let other = try Self.change(
                    client, #"{"change":"move","path":"a","target":"b","etag":"\#(tag)"}"#,
                    #"{"change":"remove","path":"a","etag":"\#(tag)"}"#)
                #expect(Self.results(other) == ["fileChanged", "fileChanged"] && server.content("a") == [2])
                #expect(try client.ask(.put, "/a", [], [1]).status == 200)
                // The second change is about what the first one has made.
                let same = try Self.change(
                    client, #"{"change":"move","path":"a","target":"b","etag":"\#(tag)"}"#,
                    #"{"change":"remove","path":"b","etag":"\#(tag)"}"#)
                #expect(Self.results(same) == ["completed", "completed"] && server.tree == [])
            }
        }

        @Test(arguments: [
            "", "x", "{}", "1", "[1]", "[[]]", "[{}]", #"[{"path":"a"}]"#, #"[{"change":"mkdir"}]"#,
            #"[{"change":"burn","path":"a"}]"#, #"[{"change":"move","path":"a"}]"#, #"[{"change":"mkdir","path":1}]"#,
            #"[{"change":"remove","path":"a","recursive":"yes"}]"#,
            #"[{"change":"remove","path":"a","recusive":true}]"#,
            #"[{"change":"mkdir","path":"a","etag":"\"x\""}]"#, #"[{"change":"remove","path":"a","etag":"x"}]"#,
            #"[{"change":"restore","path":"a"}]"#, #"[{"change":"restore","path":"a","trash":"../.."}]"#,
            #"[{"change":"mkdir","path":"\u0000"}]"#, #"[{"change":"mkdir","path":"a","path":"b"}]"#,
        ])
        func aListThatCannotBeReadChangesNothing(_ list: String) async throws {
            try await servingHTTP { server in
                let client = try HTTPClient(server)
                #expect(server.put([1], "a"))
                let first = #"[{"change":"mkdir","path":"d"},"#
                let lists = [list] + (list.hasPrefix("[") ? [first + list.dropFirst()] : [])
                for list in lists {
                    let answer = try client.ask(.post, "/.transfer/changes", [Self.json], Array(list.utf8))
                    #expect(
                        answer.status == 400 && answer.text.contains("\"result\":\"malformedFrame\""), "\(answer.text)")
                }
                #expect(server.tree == ["a"])
                #expect(try client.ask(.get, "/a").content == [1])
            }
        }

        @Test func aListHasBounds() async throws {
            try await servingHTTP { server in
                let client = try HTTPClient(server)
                let item = #"{"change":"mkdir","path":"d"}"#
                let many = "[" + Array(repeating: item, count: 1001).joined(separator: ",") + "]"
                #expect(try client.ask(.post, "/.transfer/changes", [Self.json], Array(many.utf8)).status == 413)
                #expect(try client.ask(.post, "/.transfer/changes", [], Array("[]".utf8)).status == 415)
                #expect(try client.ask(.get, "/.transfer/changes").status == 405)
                for type in ["text/plain", "application/x-www-form-urlencoded", "application/"] {
                    let fields = [("Content-Type", type)]
                    #expect(try client.ask(.post, "/.transfer/changes", fields, Array("[]".utf8)).status == 415)
                }
                let encoded = [Self.json, ("Content-Encoding", "gzip")]
                #expect(try client.ask(.post, "/.transfer/changes", encoded, [1]).status == 415)
                #expect(server.tree == [])
                let long = [Self.json, ("Content-Length", "\(ListReceiver.mostBytes + 1)")]
                #expect(try client.ask(.post, "/.transfer/known", long).status == 413)
                // The length of a chunked list is known when it has arrived.
                let chunked = try HTTPClient(server)
                let chunk = String(repeating: " ", count: 64 << 10)
                chunked.send(
                    bytes: "POST /.transfer/known HTTP/1.1\r\nHost: s\r\nContent-Type: application/json\r\n"
                        + "Transfer-Encoding: chunked\r\n\r\n"
                        + String(repeating: "10000\r\n\(chunk)\r\n", count: 33), for: .post)
                #expect(try chunked.answer().status == 413)
            }
        }

        /// The longest list, in one request, also from a client that does not know chunks.
        @Test func aLongListIsAnsweredCompletely() async throws {
            try await servingHTTP { server in
                let list = "[" + (0..<1000).map { #"{"change":"mkdir","path":"d\#($0)"}"# }.joined(separator: ",") + "]"
                let old = try HTTPClient(server)
                old.send(
                    bytes: "POST /.transfer/changes HTTP/1.0\r\nHost: s\r\nContent-Type: application/json\r\n"
                        + "Content-Length: \(list.utf8.count)\r\n\r\n\(list)", for: .post)
                #expect(try old.answer().lines.map { $0.text("path") } == (0..<1000).map { "d\($0)" })
                #expect(server.tree.count == 1000)
                let again = try Self.post(try HTTPClient(server), "changes", list)
                #expect(Self.results(again) == Array(repeating: "completed", count: 1000))
                #expect(try Self.post(try HTTPClient(server), "changes", "[]").isEmpty)
            }
        }

        // MARK: Known files

        @Test func theServerTellsWhatItHas() async throws {
            try await servingHTTP { server in
                let client = try HTTPClient(server)
                let content = SplitMix64.bytes(seed: 9, 3000)
                let digest = content.withUnsafeBytes { ContentDigester.digest(.sha256, $0) }
                let time = [("Transfer-Modified", "1700000000.123456")]
                #expect(try client.ask(.put, "/s?digest=sha256", time, content).status == 201)
                #expect(try client.ask(.put, "/x", time, content).status == 201)
                #expect(try client.ask(.put, "/d/", [], []).status == 201)
                let other = digest.description.replacing(/.$/, with: digest.description.hasSuffix("0") ? "1" : "0")
                let lines = try Self.post(
                    client, "known",
                    "["
                        + [
                            #"{"path":"s","size":3000,"digest":"\#(digest)"}"#,
                            #"{"path":"s","size":3000,"digest":"\#(other)","modified":1700000000.123}"#,
                            #"{"path":"s","size":3001,"digest":"\#(digest)"}"#,
                            #"{"path":"s","size":3000}"#,
                            #"{"path":"x","size":3000,"digest":"\#(digest)","modified":1700000000.1239}"#,
                            #"{"path":"x","size":3000,"digest":"\#(digest)","modified":1700000000.124}"#,
                            #"{"path":"nothing","size":0}"#, #"{"path":"d","size":0}"#, #"{"path":"../s","size":3000}"#,
                            #"{"path":"s/","size":3000}"#,
                        ].joined(separator: ",") + "]")
                #expect(
                    lines.map { $0.text("known") } == [
                        "same", "other", "other", "other", "probablySame", "other", "missing", "other", "invalid",
                        "invalid",
                    ])
                #expect(lines[0].text("digest") == digest.description && lines[0]["size"] == .number("3000"))
                #expect(lines[6]["digest"] == .null && lines[6]["size"] == .null)
            }
        }

        /// A file that has changed behind the server's back is not called the same.
        @Test(.directoryOnly) func aChangedFileIsOther() async throws {
            try await servingHTTP { server in
                let client = try HTTPClient(server)
                let tag = try #require(try client.ask(.put, "/a?digest=sha256", [], [1, 2, 3])["etag"])
                let digest = "sha256:" + tag.dropFirst("\"sha256-".count).dropLast()
                let list = #"[{"path":"a","size":3,"digest":"\#(digest)"}]"#
                #expect(try Self.post(client, "known", list).map { $0.text("known") } == ["same"])
                #expect(server.put([1, 2, 4], "a"))
                #expect(try Self.post(client, "known", list).map { $0.text("known") } == ["other"])
            }
        }

        @Test(arguments: [
            #"[{"path":"a"}]"#, #"[{"path":"a","size":-1}]"#, #"[{"path":"a","size":"1"}]"#,
            #"[{"path":"a","size":1.5}]"#,
            #"[{"path":"a","size":9223372036854775808}]"#, #"[{"path":"a","size":1,"modified":"1"}]"#,
            #"[{"path":"a","size":1,"modified":1e9}]"#, #"[{"path":"a","size":1,"sha256":""}]"#, #"[{"size":1}]"#,
        ])
        func aListOfFilesIsChecked(_ list: String) async throws {
            try await servingHTTP { server in
                let answer = try HTTPClient(server).ask(.post, "/.transfer/known", [Self.json], Array(list.utf8))
                #expect(answer.status == 400, "\(answer.text)")
            }
        }
    }
}

extension HTTPClient.Answer {
    /// The content as lines of JSON.
    var lines: [JSONNode] {
        get throws {
            try content.split(separator: UInt8(ascii: "\n")).map { try JSONReader.read(Array($0)) }
        }
    }
}

extension JSONNode {
    func text(_ key: String) -> String? {
        if case .string(let text)? = self[key] { text } else { nil }
    }
}
