import Glibc
import Testing
import TransferAccess
import TransferHTTP
import TransferModel
import TransferPictures
import TransferSystem
import TransferTestSupport

@testable import TransferGallery
@testable import TransferServer

extension ServerTests {
    /// Thumbnails and details over HTTP. Other tests decode real pictures.
    @Suite(.overEachStore) struct HTTPThumbnailTests {
        /// A file of WebP with one pixel.
        private static let webP: [UInt8] =
            Array("RIFF".utf8) + [26, 0, 0, 0] + Array("WEBPVP8L".utf8) + [13, 0, 0, 0]
            + [0x2F, 0, 0, 0, 0x10, 7, 0x10, 0x11, 0x11, 0x88, 0x88, 0xFE, 7, 0]

        private static var report: PictureReport {
            var summary = PictureSummary(format: .jpeg, width: 40, height: 30)
            summary.taken = "2026-01-31T18:30:05"
            return PictureReport(summary: summary, thumbnail: webP)
        }

        private func serving(
            _ foundations: ServerFoundations, in directory: TemporaryDirectory? = nil,
            _ change: @escaping @Sendable (inout ServerConfiguration) -> Void = { _ in },
            _ body: @escaping @Sendable (TestServer) throws -> Void
        ) async throws {
            try await TransferServerTests.serving(
                { configuration in
                    (configuration.http, configuration.thumbnails) = (.on, .demand)
                    change(&configuration)
                }, in: directory, on: foundations, body)
        }

        @Test func aThumbnailIsMadeAndKept() async throws {
            let decoders = try FakeDecoders(Self.report)
            try await serving(decoders.foundations()) { server in
                let client = try HTTPClient(server)
                #expect(try client.ask(.put, "/d/a%20b.jpg", [], [1, 2, 3]).status == 201)
                for _ in 1...2 {
                    let answer = try client.ask(.get, "/.transfer/thumb/d/a%20b.jpg?s=320")
                    #expect(answer.status == 200 && answer.content == Self.webP)
                    #expect(answer["content-type"] == "image/webp")
                    #expect(answer["x-content-type-options"] == "nosniff")
                    #expect(answer["cache-control"] == "private, no-cache")
                    let head = try client.ask(.head, "/.transfer/thumb/d/a%20b.jpg?s=320")
                    #expect(head.status == 200 && head["content-length"] == "\(Self.webP.count)")
                }
            }
        }

        /// The address of a thumbnail with the digest of the content can be kept for good.
        @Test func anAddressWithTheDigestLasts() async throws {
            let decoders = try FakeDecoders(Self.report)
            try await serving(decoders.foundations()) { server in
                let client = try HTTPClient(server)
                let stored = try client.ask(.put, "/a.jpg?digest=sha256", [], [1, 2, 3])
                let digest = try #require(JSONReader.read(stored.content).text("digest"))
                for (tag, control) in [
                    (digest, "private, max-age=31536000, immutable"), ("sha256:00", "private, no-cache"),
                ] {
                    for _ in 1...2 {
                        let answer = try client.ask(.get, "/.transfer/thumb/a.jpg?s=320&v=\(tag)")
                        #expect(answer["cache-control"] == control)
                    }
                }
            }
        }

        @Test func whatIsNoPictureHasNoThumbnail() async throws {
            let decoders = try FakeDecoders(PictureReport(refusal: .notPicture))
            try await serving(decoders.foundations()) { server in
                let client = try HTTPClient(server)
                #expect(try client.ask(.put, "/d/a", [], [1, 2, 3]).status == 201)
                for _ in 1...2 {
                    let answer = try client.ask(.get, "/.transfer/thumb/d/a?s=1280")
                    #expect(answer.status == 404 && answer.text.contains("not a picture"))
                }
                for path in ["d", "d/", "", "missing", "d/a/", "d/missing.jpg", ".transfer/identity.pem"] {
                    #expect(
                        try [400, 404, 409].contains(client.ask(.get, "/.transfer/thumb/\(path)").status), "\(path)")
                    #expect(try [400, 404, 409].contains(client.ask(.get, "/.transfer/details/\(path)").status))
                }
                for query in ["s=5", "s=", "s=320&s=320", "s=0320"] {
                    #expect(try client.ask(.get, "/.transfer/thumb/d/a?\(query)").status == 400, "\(query)")
                }
                #expect(try client.ask(.put, "/.transfer/thumb/d/a", [], [1]).status == 405)
            }
        }

        @Test func aServerWithoutThumbnailsSaysSo() async throws {
            try await servingHTTP { server in
                let client = try HTTPClient(server)
                #expect(try client.ask(.put, "/a.jpg", [], [1]).status == 201)
                #expect(try client.ask(.get, "/.transfer/thumb/a.jpg").text.contains("makes no thumbnails"))
                #expect(try client.ask(.get, "/.transfer/details/a.jpg").status == 200)
            }
        }

        @Test func aHelperThatDoesNotStartIsNoObstacle() async throws {
            var foundations = ServerFoundations()
            foundations.startDecoding = { () throws(SystemError) in
                throw SystemError(errno: EAGAIN, call: "posix_spawn")
            }
            try await serving(foundations) { server in
                let client = try HTTPClient(server)
                #expect(try client.ask(.put, "/a.jpg", [], [1]).status == 201)
                let answer = try client.ask(.get, "/.transfer/thumb/a.jpg")
                #expect(answer.status == 503 && answer["retry-after"] != nil)
            }
        }

        @Test func thumbnailsAreForClientsThatMayRead() async throws {
            let directory = try TemporaryDirectory()
            let lists = try StoreKind.current.access(in: directory)
            func issue(_ name: String, _ rights: AccessRights) throws -> [(String, String)] {
                var options = AccessOptions()
                (options.rights, options.folder) = (rights, try RelativePath("r"))
                let token = try lists.issue(.token, name: name, options: options, at: .now)
                return [("Authorization", "Bearer \(token.text)")]
            }
            let (reader, writer) = (try issue("reader", .readOnly), try issue("writer", .writeOnly))
            let decoders = try FakeDecoders(Self.report)
            try await serving(
                decoders.foundations(), in: directory,
                { ($0.security, $0.access) = (.identity, .listed(owner: nil)) }
            ) { server in
                let client = try HTTPClient(server, isSecured: true)
                #expect(try client.ask(.put, "/a.jpg", writer, [1]).status == 201)
                for name in ["thumb", "details"] {
                    #expect(try client.ask(.get, "/.transfer/\(name)/a.jpg").status == 401)
                    #expect(try client.ask(.get, "/.transfer/\(name)/a.jpg", writer).status == 403)
                    #expect(try client.ask(.get, "/.transfer/\(name)/a.jpg", reader).status == 200)
                    let outside = try client.ask(.get, "/.transfer/\(name)/r/a.jpg", reader)
                    #expect(outside.status == 404 && !outside.text.contains("r/r"))
                }
                let details = try client.ask(.get, "/.transfer/details/a.jpg", reader)
                #expect(details["cache-control"] == "no-store")
                let node = try JSONReader.read(details.content)
                #expect(node.text("path") == "a.jpg" && node.text("sender") == "writer")
                #expect(node["picture"]?.text("taken") == "2026-01-31T18:30:05" && node["size"] == .number("1"))
            }
        }

        /// A client that waits for a decoder gets its answers in order, and others are served meanwhile.
        @Test func laterRequestsWaitForTheThumbnail() async throws {
            let decoders = try FakeDecoders(Self.report)
            try await serving(decoders.foundations(waits: true)) { server in
                let (client, other) = (try HTTPClient(server), try HTTPClient(server))
                #expect(try client.ask(.put, "/a.jpg", [], [1]).status == 201)
                client.send(.get, "/.transfer/thumb/a.jpg")
                client.send(.get, "/a.jpg")
                client.send(.get, "/missing")
                #expect(try other.ask(.get, "/a.jpg").content == [1])
                try decoders.letOneGo()
                #expect(try client.answer().content == Self.webP)
                #expect(try client.answer().content == [1])
                #expect(try client.answer().status == 404)
                // The connection can wait once more.
                #expect(try client.ask(.put, "/b.jpg", [], [2]).status == 201)
                client.send(.get, "/.transfer/thumb/b.jpg")
                try decoders.letOneGo()
                #expect(try client.answer().content == Self.webP)
            }
        }

        /// Two answers that wait, one behind the other.
        @Test func thumbnailsWaitInTheirOrder() async throws {
            let decoders = try FakeDecoders(Self.report)
            try await serving(decoders.foundations(waits: true)) { server in
                let client = try HTTPClient(server)
                for name in ["a", "b", "c"] { #expect(try client.ask(.put, "/\(name).jpg", [], [1]).status == 201) }
                client.send(
                    bytes: ["a", "b", "c"].map { "GET /.transfer/thumb/\($0).jpg HTTP/1.1\r\nHost: server\r\n\r\n" }
                        .joined())
                for name in ["a", "b", "c"] {
                    if name != "a" { client.expectAnswer() }
                    try decoders.letOneGo()
                    #expect(try client.answer().content == Self.webP)
                }
            }
        }

        /// A client that sends nothing more still gets its answer.
        @Test func aClientMayCloseItsSide() async throws {
            let decoders = try FakeDecoders(Self.report)
            try await serving(decoders.foundations(waits: true)) { server in
                let client = try HTTPClient(server)
                #expect(try client.ask(.put, "/a.jpg", [], [1]).status == 201)
                client.send(.get, "/.transfer/thumb/a.jpg")
                client.raw.endSending()
                try decoders.letOneGo()
                #expect(try client.answer().content == Self.webP)
                #expect(try client.isClosed())
            }
        }

        @Test func aClientThatLeavesStopsNothing() async throws {
            let decoders = try FakeDecoders(Self.report)
            try await serving(decoders.foundations(waits: true)) { server in
                let other = try HTTPClient(server)
                for name in ["a", "b"] { #expect(try other.ask(.put, "/\(name).jpg", [], [1]).status == 201) }
                do {
                    let client = try HTTPClient(server)
                    client.send(.get, "/.transfer/thumb/a.jpg")
                    try decoders.letOneGo()
                    #expect(try client.answer().content == Self.webP)
                    client.send(.get, "/.transfer/thumb/b.jpg")
                }
                other.send(.get, "/.transfer/thumb/b.jpg")
                // Two servers of a cluster have a decoder each.
                let gate = try decoders.openGate(for: 2)
                #expect(try other.answer().content == Self.webP)
                withExtendedLifetime(gate) {}
            }
        }

        /// When a server stops, its clients do not wait any longer.
        @Test func aServerCanStopWhileAClientWaits() async throws {
            let decoders = try FakeDecoders(Self.report)
            try await serving(decoders.foundations(waits: true), { $0.drain = .milliseconds(1) }) { server in
                let client = try HTTPClient(server)
                #expect(try client.ask(.put, "/a.jpg", [], [1]).status == 201)
                client.send(.get, "/.transfer/thumb/a.jpg")
            }
        }

        @Test func foldersDescribeTheirPictures() async throws {
            let decoders = try FakeDecoders(PictureReport(summary: Self.report.summary))
            try await serving(decoders.foundations(), { $0.thumbnails = .on }) { server in
                let client = try HTTPClient(server)
                for name in ["a.jpg", "b.txt", "c.JPG"] {
                    #expect(try client.ask(.put, "/d/\(name)", [], Array(name.utf8)).status == 201)
                }
                func described(_ target: String) throws -> [String?] {
                    let answer = try client.ask(.get, target, [("Accept", "application/x-ndjson")])
                    return try answer.lines.map { $0["picture"]?.text("format") }
                }
                // Without a client that looks at pictures, nothing is known.
                #expect(try described("/d/") == [nil, nil, nil])
                while try described("/d/?pictures") != ["jpeg", nil, "jpeg"] {}
                #expect(try described("/d/") == ["jpeg", nil, "jpeg"])
            }
        }

        @Test func storedPicturesAreLookedAtOnceOneWasSeen() async throws {
            let decoders = try FakeDecoders(Self.report)
            try await serving(decoders.foundations(), { $0.thumbnails = .on }) { server in
                let client = try HTTPClient(server)
                #expect(try client.ask(.put, "/a.jpg", [], [1]).status == 201)
                #expect(try client.ask(.get, "/.transfer/thumb/a.jpg").status == 200)
                #expect(try client.ask(.put, "/b.jpg", [], [2]).status == 201)
                while try !client.ask(.get, "/.transfer/details/b.jpg").text.contains("jpeg") {}
            }
        }
    }
}
