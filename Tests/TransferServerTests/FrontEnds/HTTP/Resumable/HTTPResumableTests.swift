import Testing
import TransferHTTP
import TransferModel
import TransferTestSupport

@testable import TransferServer

extension ServerTests {
    /// Uploads of clients of draft-ietf-httpbis-resumable-upload, in all supported versions.
    @Suite(.overEachStore) struct HTTPResumableTests {
        private typealias Fields = [(String, String)]

        private static let content = SplitMix64.bytes(seed: 11, 5_000_000)

        /// Fields that a client of a version sends with its content.
        private static func fields(_ interop: Int, isComplete: Bool, _ offset: Int? = nil) -> Fields {
            let complete =
                interop == 3
                ? ("Upload-Incomplete", isComplete ? "?0" : "?1") : ("Upload-Complete", isComplete ? "?1" : "?0")
            var fields = [("Upload-Draft-Interop-Version", "\(interop)"), complete]
            if let offset {
                fields.append(("Upload-Offset", "\(offset)"))
                if interop >= 6 { fields.append(("Content-Type", "application/partial-upload")) }
            }
            return fields
        }

        private static func isComplete(_ answer: HTTPClient.Answer, _ interop: Int) -> Bool? {
            interop == 3
                ? answer["upload-incomplete"].map { $0 == "?0" } : answer["upload-complete"].map { $0 == "?1" }
        }

        /// An upload is begun, interrupted, asked about and resumed in each version.
        @Test(arguments: 3...9) func allVersionsGoOn(_ interop: Int) async throws {
            try await servingHTTP { server in
                let content = Self.content
                let lost = try HTTPClient(server)
                var text = "PUT /x HTTP/1.1\r\nHost: s\r\nContent-Length: \(content.count)\r\n"
                for (name, value) in Self.fields(interop, isComplete: true) { text += "\(name): \(value)\r\n" }
                lost.send(bytes: text + "\r\n", for: .put)
                let early = try lost.interim()
                #expect(early.status == 104)
                #expect(try early.fields.only("upload-draft-interop-version") == "\(interop)")
                #expect(try early.fields.only("upload-limit")?.contains("max-size=") ?? false)
                let address = try #require(try early.fields.only("location"))
                lost.raw.send(Array(content[..<3_000_000]))
                lost.raw.endSending()
                while try lost.raw.some() != nil {}
                let client = try HTTPClient(server)
                let version = [("Upload-Draft-Interop-Version", "\(interop)")]
                let head = try client.ask(.head, address, version)
                #expect(head.status == 204 && head["upload-offset"] == "3000000" && head["cache-control"] == "no-store")
                #expect(head["upload-length"] == "\(content.count)" && Self.isComplete(head, interop) == false)
                let part = try client.ask(
                    .patch, address, Self.fields(interop, isComplete: false, 3_000_000),
                    Array(content[3_000_000..<4_000_000]))
                #expect(
                    part.status == 204 && part["upload-offset"] == "4000000" && Self.isComplete(part, interop) == false)
                #expect(server.content("x") == nil)
                let last = try client.ask(
                    .patch, address, Self.fields(interop, isComplete: true, 4_000_000), Array(content[4_000_000...]))
                #expect(last.status == 201 && last["transfer-result"] == "committed" && last["location"] == "/x")
                #expect(Self.isComplete(last, interop) == true && server.content("x") == content)
                let done = try client.ask(.head, address, version)
                #expect(done["upload-offset"] == "\(content.count)" && Self.isComplete(done, interop) == true)
                let more = try client.ask(.patch, address, Self.fields(interop, isComplete: true, content.count), [])
                #expect(more.status == 400 && more.text.contains("#completed-upload"))
                #expect(server.parts == [])
            }
        }

        @Test(arguments: 3...9) func uploadsMayComeInPieces(_ interop: Int) async throws {
            try await servingHTTP { server in
                let client = try HTTPClient(server)
                client.send(
                    .post, "/d/",
                    Self.fields(interop, isComplete: false)
                        + [("Content-Disposition", "attachment; filename=\"a b.txt\"")], [1, 2, 3])
                #expect(try client.interim().status == 104)
                let made = try client.answer()
                #expect(made.status == 201 && made["upload-offset"] == "3" && Self.isComplete(made, interop) == false)
                let address = try #require(made["location"])
                #expect(address.hasPrefix("/.transfer/up/") && made["upload-limit"] != nil)
                let answer = try client.ask(.patch, address, Self.fields(interop, isComplete: true, 3), [4])
                #expect(answer.status == 201 && answer["location"] == "/d/a%20b.txt")
                #expect(server.content("d/a b.txt") == [1, 2, 3, 4])
            }
        }

        /// A condition is checked at the end, whether in the first request or in a later one, so content that another
        /// client stores meanwhile is not replaced.
        @Test(arguments: [true, false]) func conditionsHoldAtTheEnd(_ isOneRequest: Bool) async throws {
            try await servingHTTP { server in
                let client = try HTTPClient(server)
                let first = try client.ask(.put, "/x", [], [1])
                let condition = [("If-Match", try #require(first["etag"]))]
                let slow = try HTTPClient(server)
                var address = ""
                if isOneRequest {
                    var text = "PUT /x HTTP/1.1\r\nHost: s\r\nContent-Length: 2\r\n"
                    let fields = Self.fields(8, isComplete: true) + condition
                    for (name, value) in fields { text += "\(name): \(value)\r\n" }
                    slow.send(bytes: text + "\r\n", for: .put)
                    #expect(try slow.interim().status == 104)
                } else {
                    let made = try slow.ask(.put, "/x", Self.fields(8, isComplete: false) + condition, [5])
                    address = try #require(made["location"])
                }
                #expect(try client.ask(.put, "/x", [], [2]).status == 200)
                let answer: HTTPClient.Answer
                if isOneRequest {
                    slow.raw.send([5, 6])
                    answer = try slow.answer()
                } else {
                    answer = try slow.ask(.patch, address, Self.fields(8, isComplete: true, 1), [6])
                }
                #expect(answer.status == 412 && server.content("x") == [2])
                // The file is replaced if it has not changed.
                let next = [("If-Match", try #require(try client.ask(.head, "/x")["etag"]))]
                let made = try slow.ask(.put, "/x", Self.fields(8, isComplete: true) + next, [7])
                #expect(made.status == 200 && server.content("x") == [7])
            }
        }

        /// A condition for a new name is checked when the upload is complete, even if another client has stored the
        /// same content meanwhile.
        @Test(arguments: [true, false]) func aNameThatMustBeNewIsSoAtTheEnd(isTus: Bool) async throws {
            try await servingHTTP { server in
                let client = try HTTPClient(server)
                let condition = [("If-None-Match", "*")]
                let made: HTTPClient.Answer
                if isTus {
                    let fields = [
                        ("Tus-Resumable", "1.0.0"), ("Upload-Length", "1"), ("Upload-Metadata", "filename eA=="),
                    ]
                    made = try client.ask(.post, "/.transfer/tus/", fields + condition, [])
                } else {
                    made = try client.ask(.put, "/x", Self.fields(8, isComplete: false) + condition, [])
                }
                #expect(made.status == 201)
                let address = try #require(made["location"])
                #expect(try client.ask(.put, "/x", [], [5]).status == 201)
                let fields =
                    isTus
                    ? [
                        ("Tus-Resumable", "1.0.0"), ("Upload-Offset", "0"),
                        ("Content-Type", "application/offset+octet-stream"),
                    ] : Self.fields(8, isComplete: true, 0)
                #expect(try client.ask(.patch, address, fields, [5]).status == 412)
                #expect(server.tree == ["x"])
            }
        }

        /// A client of an unknown version could consider an interim response the answer, so it gets none.
        @Test func whoSpeaksNoKnownVersionGetsNo104() async throws {
            try await servingHTTP { server in
                let client = try HTTPClient(server)
                for fields in [[], [("Upload-Draft-Interop-Version", "2")], [("Upload-Draft-Interop-Version", "10")]] {
                    let answer = try client.ask(.put, "/x", fields + [("Upload-Complete", "?1")], [1, 2])
                    #expect(answer.status == 201 || answer.status == 200)
                }
                #expect(server.content("x") == [1, 2])
            }
        }

        @Test func whatDoesNotFitIsRefused() async throws {
            try await servingHTTP { server in
                let client = try HTTPClient(server)
                let made = try client.ask(.put, "/x", [("Upload-Complete", "?0"), ("Upload-Length", "6")], [1, 2])
                let address = try #require(made["location"])
                func patch(_ fields: Fields, _ content: [UInt8] = [9]) throws -> HTTPClient.Answer {
                    try client.ask(.patch, address, fields, content)
                }
                let type = [("Content-Type", "application/partial-upload")]
                let go = type + [("Upload-Complete", "?0")]
                let wrong = try patch(go + [("Upload-Offset", "1")])
                #expect(wrong.status == 409 && wrong["upload-offset"] == "2")
                #expect(wrong["content-type"] == "application/problem+json")
                #expect(
                    wrong.text.contains("#mismatching-upload-offset") && wrong.text.contains("\"expected-offset\":2"))
                let cases: [(Fields, [UInt8], Int)] = [
                    (go, [9], 400), (type + [("Upload-Offset", "2")], [9], 400),
                    ([("Upload-Complete", "?0"), ("Upload-Offset", "2")], [9], 415),
                    (go + [("Upload-Offset", "9223372036854775808")], [9], 400),
                    (type + [("Upload-Complete", "yes"), ("Upload-Offset", "2")], [9], 400),
                    (go + [("Upload-Offset", "2"), ("Upload-Length", "7")], [9], 400),
                    (go + [("Upload-Offset", "2")], [1, 2, 3, 4, 5], 400),
                    (type + [("Upload-Complete", "?1"), ("Upload-Offset", "2")], [1, 2, 3], 400),
                    (go + [("Upload-Offset", "2"), ("Content-Digest", "md5=:AAAA:")], [9], 400),
                    (
                        go + [
                            ("Upload-Offset", "2"),
                            ("Content-Digest", "sha-256=:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=:"),
                        ], [9], 422
                    ),
                ]
                for (fields, content, status) in cases {
                    let answer = try patch(fields, content)
                    #expect(answer.status == status, "\(fields): \(answer.text)")
                    #expect(try client.ask(.head, address)["upload-offset"] == "2")
                }
                #expect(
                    try patch(type + [("Upload-Complete", "?1"), ("Upload-Offset", "2")], [3, 4, 5, 6]).status == 201)
                #expect(server.content("x") == [1, 2, 3, 4, 5, 6])
                let contradicting = [("Upload-Complete", "?1"), ("Upload-Length", "3")]
                #expect(try client.ask(.put, "/y", contradicting, [1]).status == 400)
                #expect(try client.ask(.post, "/", [("Upload-Complete", "?1")], [1]).status == 400)
                #expect(server.parts == [] && server.content("y") == nil)
            }
        }

        /// The declared digest of the whole content is compared at the end, even if the content was sent in two pieces.
        @Test func theWholeIsCompared() async throws {
            try await servingHTTP { server in
                let client = try HTTPClient(server)
                let type = [
                    ("Content-Type", "application/partial-upload"), ("Upload-Complete", "?1"), ("Upload-Offset", "3"),
                ]
                // SHA-256 of "foobar".
                let digest = "sha-256=:w6uP8Tcg6K2QR905Rms8iXTlksL6OD1KOWBxTK7wxPI=:"
                for (rest, status) in [("baz", 422), ("bar", 201)] {
                    let made = try client.ask(
                        .put, "/x", [("Upload-Complete", "?0"), ("Repr-Digest", digest)], Array("foo".utf8))
                    let address = try #require(made["location"])
                    let answer = try client.ask(.patch, address, type, Array(rest.utf8))
                    #expect(answer.status == status)
                    #expect(status != 201 || answer["repr-digest"] == digest)
                    #expect((server.content("x") != nil) == (status == 201))
                }
            }
        }

        @Test func termsAreThoseOfPut() async throws {
            try await servingHTTP { server in
                let client = try HTTPClient(server)
                #expect(try client.ask(.put, "/x", [], [1]).status == 201)
                let complete = [("Upload-Complete", "?1")]
                #expect(try client.ask(.put, "/x", complete + [("If-None-Match", "*")], [2]).status == 412)
                #expect(try client.ask(.put, "/x?on-conflict=fail", complete, [2]).status == 409)
                #expect(server.content("x") == [1])
                #expect(try client.ask(.put, "/x", complete, [2]).status == 200)
                #expect(server.content("x") == [2])
                for path in ["/.transfer/x", "/a/../x", "/"] {
                    #expect(try client.ask(.put, path, complete, [2]).status >= 400)
                }
                #expect(try client.ask(.options, "/x")["upload-limit"]?.contains("max-size=") ?? false)
                #expect(server.parts == [])
            }
        }
    }
}
