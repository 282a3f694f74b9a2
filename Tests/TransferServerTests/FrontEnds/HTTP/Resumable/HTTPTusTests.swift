import Testing
import TransferHTTP
import TransferIntake
import TransferModel
import TransferSystem
import TransferTestSupport

@testable import TransferServer

extension ServerTests {
    /// Uploads of tus 1.0.0 clients.
    @Suite(.overEachStore) struct HTTPTusTests {
        private typealias Fields = [(String, String)]

        private static let version: Fields = [("Tus-Resumable", "1.0.0")]
        private static let type: Fields = [("Content-Type", "application/offset+octet-stream")]

        /// Makes the metadata field with `filename` in Base64.
        private static func named(_ name: String) -> Fields {
            [("Upload-Metadata", "filename \(Base64Text.encode(Array(name.utf8)))")]
        }

        private static func create(_ client: HTTPClient, _ fields: Fields, _ content: [UInt8]? = nil) throws
            -> HTTPClient.Answer
        {
            try client.ask(.post, "/.transfer/tus/", version + fields, content)
        }

        private static func patch(
            _ client: HTTPClient, _ address: String, _ offset: Int, _ content: [UInt8], _ fields: Fields = []
        ) throws -> HTTPClient.Answer {
            try client.ask(.patch, address, version + type + [("Upload-Offset", "\(offset)")] + fields, content)
        }

        private static func head(_ client: HTTPClient, _ address: String) throws -> HTTPClient.Answer {
            try client.ask(.head, address, version)
        }

        /// - Returns: a client that has received 100 for a PATCH of six bytes and has sent none of the bytes.
        private static func stuck(_ server: TestServer, at address: String) throws -> HTTPClient {
            let stuck = try HTTPClient(server)
            stuck.send(
                bytes: "PATCH \(address) HTTP/1.1\r\nHost: s\r\nTus-Resumable: 1.0.0\r\nUpload-Offset: 0\r\n"
                    + "Content-Type: application/offset+octet-stream\r\nContent-Length: 6\r\nExpect: 100-continue\r\n\r\n",
                for: .patch)
            #expect(try stuck.interim().status == 100)
            return stuck
        }

        // MARK: Uploads

        @Test func piecesBecomeOneFile() async throws {
            try await servingHTTP { server in
                let client = try HTTPClient(server)
                let content = SplitMix64.bytes(seed: 7, 9_000_001)
                let made = try Self.create(
                    client, [("Upload-Length", "\(content.count)")] + Self.named("a/\u{E9}.bin"))
                #expect(made.status == 201 && made["upload-offset"] == "0" && made["tus-resumable"] == "1.0.0")
                let address = try #require(made["location"])
                #expect(address.hasPrefix("/.transfer/tus/") && made["upload-expires"] != nil)
                var offset = 0
                // The pieces end within a block, at its end, and beyond its end; the last piece is the rest.
                for end in [1, 1000, 4 << 20, (4 << 20) + 5, 8 << 20, content.count] {
                    #expect(server.content("a/\u{E9}.bin") == nil)
                    let head = try Self.head(client, address)
                    #expect(
                        head.status == 200 && head["upload-offset"] == "\(offset)"
                            && head["cache-control"] == "no-store")
                    #expect(head["upload-length"] == "\(content.count)" && head["upload-metadata"] != nil)
                    let answer = try Self.patch(client, address, offset, Array(content[offset..<end]))
                    #expect(answer.status == 204 && answer["upload-offset"] == "\(end)")
                    offset = end
                }
                #expect(server.content("a/\u{E9}.bin") == content)
                #expect(server.parts == [])
                // A client that has missed the last answer can ask for the offset again.
                let head = try Self.head(client, address)
                #expect(head["upload-offset"] == "\(content.count)" && head["upload-length"] == "\(content.count)")
                try server.checkServes()
            }
        }

        @Test func theLastAnswerSaysWhatIsStored() async throws {
            try await servingHTTP { server in
                let client = try HTTPClient(server)
                let made = try Self.create(client, [("Upload-Length", "3")] + Self.type + Self.named("x"), [1, 2, 3])
                #expect(made.status == 201 && made["upload-offset"] == "3" && made["transfer-result"] == "committed")
                #expect(made["content-location"] == "/x" && made["location"]?.hasPrefix("/.transfer/tus/") ?? false)
                #expect(server.content("x") == [1, 2, 3] && server.parts == [])
                #expect(try Self.create(client, [("Upload-Length", "0")] + Self.named("empty")).status == 201)
                #expect(server.content("empty") == [])
                // No file is replaced, and the same content is not stored twice.
                let again = try Self.create(client, [("Upload-Length", "3")] + Self.type + Self.named("x"), [1, 2, 3])
                #expect(again["transfer-result"] == "alreadyStored")
                let other = try Self.create(client, [("Upload-Length", "1")] + Self.type + Self.named("x"), [9])
                #expect(other.status == 201 && server.tree.count == 3)
            }
        }

        @Test func lengthsMayComeLater() async throws {
            try await servingHTTP { server in
                let client = try HTTPClient(server)
                let made = try Self.create(client, [("Upload-Defer-Length", "1")] + Self.named("x"))
                let address = try #require(made["location"])
                #expect(try Self.head(client, address)["upload-defer-length"] == "1")
                #expect(try Self.patch(client, address, 0, [1, 2]).status == 204)
                #expect(try Self.patch(client, address, 2, [3], [("Upload-Length", "1")]).status >= 400)
                #expect(try Self.patch(client, address, 2, [3], [("Upload-Length", "4")]).status == 204)
                #expect(try Self.head(client, address)["upload-length"] == "4")
                #expect(try Self.patch(client, address, 3, [4], [("Upload-Length", "5")]).status == 400)
                #expect(try Self.patch(client, address, 3, [4]).status == 204)
                #expect(server.content("x") == [1, 2, 3, 4])
            }
        }

        // MARK: Faults

        @Test func offsetsAreCompared() async throws {
            try await servingHTTP { server in
                let client = try HTTPClient(server)
                let address = try #require(
                    try Self.create(client, [("Upload-Length", "9")] + Self.named("x"))["location"])
                #expect(try Self.patch(client, address, 0, [1, 2, 3]).status == 204)
                for offset in [0, 2, 4] {
                    let answer = try Self.patch(client, address, offset, [7])
                    #expect(answer.status == 409 && answer["upload-offset"] == "3")
                }
                for wrong in ["-1", "x", "9223372036854775808", "99999999999999999999", "03", ""] {
                    let answer = try client.ask(
                        .patch, address, Self.version + Self.type + [("Upload-Offset", wrong)], [7])
                    #expect(answer.status == 400, "\(wrong)")
                }
                #expect(try client.ask(.patch, address, Self.version + Self.type, [7]).status == 400)
                #expect(try client.ask(.patch, address, Self.version + [("Upload-Offset", "3")], [7]).status == 415)
                // The client sends more than the declared length.
                #expect(try Self.patch(client, address, 3, [UInt8](repeating: 1, count: 7)).status == 400)
                #expect(try Self.head(client, address)["upload-offset"] == "3")
                #expect(try Self.patch(client, address, 3, [4, 5, 6, 7, 8, 9]).status == 204)
                #expect(server.content("x") == [1, 2, 3, 4, 5, 6, 7, 8, 9])
            }
        }

        /// A piece with a wrong checksum does not move the offset, and later pieces are accepted.
        @Test(arguments: [
            ("sha1", "iEPX+SQWIR3p67lj/0zigSWTKHg=", [UInt8]("foobar".utf8)),
            ("sha256", "w6uP8Tcg6K2QR905Rms8iXTlksL6OD1KOWBxTK7wxPI=", [UInt8]("foobar".utf8)),
            ("crc32", "nvYflQ==", [UInt8]("foobar".utf8)),
        ])
        func checksumsAreCompared(_ algorithm: String, _ digest: String, _ content: [UInt8]) async throws {
            try await servingHTTP { server in
                let client = try HTTPClient(server)
                let address = try #require(
                    try Self.create(client, [("Upload-Length", "12")] + Self.named("x"))["location"])
                let checksum = [("Upload-Checksum", "\(algorithm) \(digest)")]
                #expect(try Self.patch(client, address, 0, content, checksum).status == 204)
                let wrong = Array("foobaz".utf8)
                #expect(try Self.patch(client, address, 6, wrong, checksum).status == 460)
                #expect(try Self.head(client, address)["upload-offset"] == "6")
                let unknown = [("Upload-Checksum", "md4 \(digest)")]
                #expect(try Self.patch(client, address, 6, content, unknown).status == 400)
                #expect(
                    try Self.patch(client, address, 6, content, [("Upload-Checksum", "\(algorithm) !")]).status == 400)
                #expect(try Self.head(client, address)["upload-offset"] == "6")
                #expect(try Self.patch(client, address, 6, content, checksum).status == 204)
                #expect(server.content("x") == content + content)
            }
        }

        @Test func checksumsMayComeBehind() async throws {
            try await servingHTTP { server in
                let client = try HTTPClient(server)
                let address = try #require(
                    try Self.create(client, [("Upload-Length", "6")] + Self.named("x"))["location"])
                func send(_ checksum: String) throws -> Int {
                    client.send(
                        bytes: "PATCH \(address) HTTP/1.1\r\nHost: s\r\nTus-Resumable: 1.0.0\r\nUpload-Offset: 0\r\n"
                            + "Content-Type: application/offset+octet-stream\r\nTrailer: Upload-Checksum\r\n"
                            + "Transfer-Encoding: chunked\r\n\r\n6\r\nfoobar\r\n0\r\n\(checksum)\r\n", for: .patch)
                    return try client.answer().status
                }
                #expect(try send("Upload-Checksum: sha1 AAAAAAAAAAAAAAAAAAAAAAAAAAA=\r\n") == 460)
                #expect(try send("") == 400)
                #expect(try Self.head(client, address)["upload-offset"] == "0")
                #expect(try send("Upload-Checksum: sha1 iEPX+SQWIR3p67lj/0zigSWTKHg=\r\n") == 204)
                #expect(server.content("x") == Array("foobar".utf8))
            }
        }

        /// The client vanishes at each byte. Received bytes stay, except those of pieces with a checksum, which count
        /// only as a whole.
        @Test(.oneServer, arguments: [true, false]) func vanishedClientsGoOn(_ isChecked: Bool) async throws {
            try await servingHTTP { server in
                let client = try HTTPClient(server)
                let content = Array("foobar".utf8)
                for cut in 0..<content.count {
                    let name = "x\(cut)"
                    let address = try #require(
                        try Self.create(client, [("Upload-Length", "6")] + Self.named(name))["location"])
                    let other = try HTTPClient(server)
                    let checksum = isChecked ? "Upload-Checksum: sha1 iEPX+SQWIR3p67lj/0zigSWTKHg=\r\n" : ""
                    other.send(
                        bytes: "PATCH \(address) HTTP/1.1\r\nHost: s\r\nTus-Resumable: 1.0.0\r\nUpload-Offset: 0\r\n"
                            + "Content-Type: application/offset+octet-stream\r\nContent-Length: 6\r\n\(checksum)\r\n"
                            + String(decoding: content[..<cut], as: UTF8.self), for: .patch)
                    other.raw.endSending()
                    #expect(try other.isClosed())
                    let offset = try #require(Int(try Self.head(client, address)["upload-offset"] ?? ""))
                    #expect(offset == (isChecked ? 0 : cut))
                    #expect(try Self.patch(client, address, offset, Array(content[offset...])).status == 204)
                    #expect(server.content(name) == content)
                }
                #expect(server.parts == [])
            }
        }

        /// Each piece comes over another connection, in a cluster to another server, which has to know what the others
        /// have taken.
        @Test func eachPieceOverAnotherConnection() async throws {
            try await servingHTTP { server in
                let clients = try (0..<2).map { _ in try HTTPClient(server) }
                let content = Array("foobar".utf8)
                let address = try #require(
                    try Self.create(clients[0], [("Upload-Length", "6")] + Self.named("x"))["location"])
                for (index, byte) in content.enumerated() {
                    let client = clients[(index + 1) % 2]
                    #expect(try Self.head(client, address)["upload-offset"] == "\(index)")
                    #expect(try Self.patch(client, address, index, [byte]).status == 204)
                }
                #expect(server.content("x") == content && server.parts == [])
            }
        }

        /// The newest request gets the upload, so a client does not wait for a dead connection.
        @Test func theNewestRequestHasIt() async throws {
            try await servingHTTP { server in
                let client = try HTTPClient(server)
                let address = try #require(
                    try Self.create(client, [("Upload-Length", "6")] + Self.named("x"))["location"])
                let stuck = try Self.stuck(server, at: address)
                stuck.raw.send(Array("foo".utf8))
                let offset = try #require(Int(try Self.head(client, address)["upload-offset"] ?? ""))
                #expect([0, 3].contains(offset))
                #expect(try Self.patch(client, address, offset, Array(Array("foobar".utf8)[offset...])).status == 204)
                stuck.raw.send(Array("BAR".utf8))
                #expect(try stuck.answer().status == 409)
                #expect(server.content("x") == Array("foobar".utf8))
                try server.checkServes()
            }
        }

        @Test func whatIsTakenBackIsGone() async throws {
            try await servingHTTP { server in
                let client = try HTTPClient(server)
                let address = try #require(
                    try Self.create(client, [("Upload-Length", "6")] + Self.named("x"))["location"])
                let stuck = try Self.stuck(server, at: address)
                #expect(try client.ask(.delete, address, Self.version).status == 204)
                stuck.raw.send(Array("foobar".utf8))
                #expect([404, 409, 503].contains(try stuck.answer().status))
                for method in [HTTPMethod.head, .delete] {
                    #expect(try client.ask(method, address, Self.version).status == 404)
                }
                #expect(try Self.patch(client, address, 0, [1]).status == 404)
                #expect(server.parts == [] && server.tree == [])
            }
        }

        @Test func whatIsNotUnderstoodIsRefused() async throws {
            try await servingHTTP { server in
                let client = try HTTPClient(server)
                #expect(try client.ask(.post, "/.transfer/tus/", [("Upload-Length", "1")], []).status == 412)
                let version = try client.ask(
                    .post, "/.transfer/tus/", [("Tus-Resumable", "0.2.2"), ("Upload-Length", "1")])
                #expect(version.status == 412 && version["tus-version"] == "1.0.0")
                let cases: [(Fields, Int)] = [
                    ([], 400), ([("Upload-Length", "x")], 400), ([("Upload-Length", "-1")], 400),
                    ([("Upload-Length", "1"), ("Upload-Defer-Length", "1")], 400),
                    ([("Upload-Defer-Length", "2")], 400),
                    ([("Upload-Length", "9223372036854775807")], 507),
                    ([("Upload-Length", "9223372036854775808")], 400),
                    ([("Upload-Length", "1"), ("Upload-Metadata", "filename !!")], 400),
                    ([("Upload-Length", "1"), ("Upload-Metadata", "filename Li4vYQ==")], 400),
                    ([("Upload-Length", "1"), ("Upload-Metadata", "filename L2V0Yy94")], 400),
                    ([("Upload-Length", "1"), ("Upload-Metadata", "filename LnRyYW5zZmVyL3g=")], 400),
                    ([("Upload-Length", "1"), ("Upload-Metadata", "filename YQBi")], 400),
                    ([("Upload-Length", "1"), ("Upload-Metadata", "filename YVxi")], 400),
                    ([("Upload-Concat", "final;/.transfer/tus/00000000000000000000000000000000")], 404),
                    ([("Upload-Concat", "final;x")], 404), ([("Upload-Concat", "whole")], 400),
                ]
                // A cluster has no disk that can be full.
                for (fields, status) in cases where !server.isCluster || status != 507 {
                    let answer = try Self.create(client, fields)
                    #expect(answer.status == status, "\(fields): \(answer.text)")
                    #expect(answer["content-type"] == "application/problem+json" && answer["tus-resumable"] == "1.0.0")
                }
                for address in [
                    "/.transfer/tus/x", "/.transfer/tus/", "/.transfer/tus/00000000000000000000000000000001",
                ] {
                    #expect(try Self.head(client, address).status == 404)
                }
                #expect(try client.ask(.get, "/.transfer/tus/x", Self.version).status == 405)
                #expect(try Self.create(client, [("Upload-Length", "1")] + Self.named("x"), [1]).status == 415)
                #expect(server.parts == [] && server.tree == [])
                try server.checkServes()
            }
        }

        @Test func clientsAreToldWhatThereIs() async throws {
            try await servingHTTP { server in
                let client = try HTTPClient(server)
                let offer = try client.ask(.options, "/.transfer/tus/")
                #expect(offer.status == 204 && offer["tus-version"] == "1.0.0" && offer["tus-max-size"] != nil)
                #expect(offer["tus-checksum-algorithm"] == "sha1,sha256,crc32,xxh128")
                for part in [
                    "creation", "creation-with-upload", "creation-defer-length", "termination", "checksum",
                    "checksum-trailer", "expiration", "concatenation",
                ] {
                    #expect(offer.head.fields.list("tus-extension").contains(part))
                }
                // The server accepts a PATCH as a POST, for clients that cannot send other methods.
                let address = try #require(
                    try Self.create(client, [("Upload-Length", "1")] + Self.named("x"))["location"])
                let answer = try client.ask(
                    .post, address,
                    Self.version + Self.type + [("X-HTTP-Method-Override", "PATCH"), ("Upload-Offset", "0")], [1])
                #expect(answer.status == 204 && server.content("x") == [1])
            }
        }

        /// Each open upload costs two descriptors.
        @Test func whatIsLeftBehindIsClosed() async throws {
            try await servingHTTP { server in
                let client = try HTTPClient(server)
                var addresses: [String] = []
                for number in 0..<60 {
                    let made = try Self.create(client, [("Upload-Length", "9")] + Self.named("x\(number)"))
                    addresses.append(try #require(made["location"]))
                    #expect(try Self.patch(client, addresses[number], 0, [1]).status == 204)
                }
                let ids = addresses.compactMap { UploadID(hexadecimal: $0.split(separator: "/").last ?? "") }
                let open = ids.filter { server.server.core.intake.multiparts[$0] != nil }
                #expect(ids.count == 60 && (1...33).contains(open.count))
                for address in addresses { #expect(try Self.head(client, address)["upload-offset"] == "1") }
            }
        }

        // MARK: Concatenation

        @Test func piecesArePutTogether() async throws {
            try await servingHTTP { server in
                let client = try HTTPClient(server)
                let content = SplitMix64.bytes(seed: 3, 10_000_000)
                let cuts = [0, 4_999_999, 5_000_000, 10_000_000]
                var addresses: [String] = []
                for (start, end) in zip(cuts, cuts.dropFirst()) {
                    let made = try Self.create(
                        client, [("Upload-Length", "\(end - start)"), ("Upload-Concat", "partial")])
                    let address = try #require(made["location"])
                    #expect(try Self.patch(client, address, 0, Array(content[start..<end])).status == 204)
                    #expect(try Self.head(client, address)["upload-concat"] == "partial")
                    // A partial upload is never stored by itself, whichever protocol a client uses for it.
                    let other = "/.transfer/up/" + address.split(separator: "/").suffix(1).joined()
                    let fields = [
                        ("Upload-Draft-Interop-Version", "8"), ("Content-Type", "application/partial-upload"),
                        ("Upload-Offset", "\(end - start)"), ("Upload-Complete", "?1"),
                    ]
                    #expect(try client.ask(.patch, other, fields, []).status == 409)
                    addresses.append(address)
                }
                let open = try #require(
                    try Self.create(client, [("Upload-Length", "5"), ("Upload-Concat", "partial")])["location"])
                #expect(server.tree == [])
                let incomplete = "final;\(addresses[0]) \(open)"
                #expect(try Self.create(client, [("Upload-Concat", incomplete)] + Self.named("x")).status == 400)
                // The addresses may be absolute or relative.
                let text = "final;\(addresses[0]) https://any.example\(addresses[1]) \(addresses[2])"
                let whole = try Self.create(client, [("Upload-Concat", text)] + Self.named("whole"))
                #expect(whole.status == 201 && whole["transfer-result"] == "committed")
                #expect(server.content("whole") == content)
                let address = try #require(whole["location"])
                #expect(try Self.head(client, address)["upload-length"] == "\(content.count)")
                let twice = try Self.create(
                    client, [("Upload-Concat", "final;\(addresses[1]) \(addresses[1])")] + Self.named("twice"))
                #expect(twice.status == 201 && server.content("twice")?.count == 2)
            }
        }

        // MARK: Restarts

        private final class Told: Sendable {
            let text = Locked("")
        }

        /// For a tus client an upload is stored when its offset reaches its length. The server stores such an upload
        /// even if the last request was cut off.
        @Test func whatIsToldAsWholeIsStored() async throws {
            try await servingHTTP { server in
                let client = try HTTPClient(server)
                let made = try Self.create(client, [("Upload-Length", "3")] + Self.named("x"))
                let address = try #require(made["location"])
                // Sends all of the content without completing the upload.
                let other = "/.transfer/up/" + address.split(separator: "/").suffix(1).joined()
                let fields = [
                    ("Upload-Draft-Interop-Version", "8"), ("Content-Type", "application/partial-upload"),
                    ("Upload-Offset", "0"), ("Upload-Complete", "?0"),
                ]
                #expect(try client.ask(.patch, other, fields, [1, 2, 3]).status == 204)
                #expect(server.content("x") == nil)
                let told = try Self.head(client, address)
                #expect(told["upload-offset"] == "3" && told["upload-length"] == "3")
                #expect(server.content("x") == [1, 2, 3] && server.parts == [])
                #expect(try Self.head(client, address)["upload-offset"] == "3")
            }
        }

        /// The reported offset holds after a restart, even if the upload ends within a block.
        @Test func uploadsOutliveTheServer() async throws {
            let directory = try TemporaryDirectory()
            let content = SplitMix64.bytes(seed: 5, 6_000_000)
            let address = Told()
            try await servingHTTP(in: directory) { server in
                let client = try HTTPClient(server)
                let made = try Self.create(client, [("Upload-Length", "\(content.count)")] + Self.named("x"))
                address.text.withLock { $0 = made["location"] ?? "" }
                let known = address.text.withLock { $0 }
                #expect(try Self.patch(client, known, 0, Array(content[..<5_000_001])).status == 204)
            }
            try await servingHTTP(in: directory) { server in
                let client = try HTTPClient(server)
                let known = address.text.withLock { $0 }
                let head = try Self.head(client, known)
                #expect(head.status == 200 && head["upload-offset"] == "5000001")
                #expect(head["upload-length"] == "\(content.count)" && head["upload-metadata"] == "filename eA==")
                #expect(try Self.patch(client, known, 5_000_001, Array(content[5_000_001...])).status == 204)
                #expect(server.content("x") == content && server.parts == [])
            }
            try await servingHTTP(in: directory) { server in
                let known = address.text.withLock { $0 }
                let head = try Self.head(HTTPClient(server), known)
                #expect(head["upload-offset"] == "\(content.count)")
            }
        }
    }
}
