import Testing
import TransferCodec
import TransferHTTP
import TransferModel
import TransferSystem
import TransferTestSupport

@testable import TransferServer

extension ServerTests {
    /// What a client declares of an upload besides its content: the digest function and the time of modification.
    @Suite(.overEachStore) struct HTTPDeclarationTests {
        private typealias Fields = [(String, String)]

        private static let tus: Fields = [("Tus-Resumable", "1.0.0")]
        private static let piece: Fields = tus + [("Content-Type", "application/offset+octet-stream")]
        private static let draft: Fields = [("Upload-Draft-Interop-Version", "6")]
        private static let form = ("Content-Type", "multipart/form-data; boundary=b")

        private static func metadata(_ pairs: [(String, String)]) -> Fields {
            let text = pairs.map { "\($0) \(Base64Text.encode(Array($1.utf8)))" }.joined(separator: ",")
            return [("Upload-Metadata", text)]
        }

        private static func form(_ names: [String], _ content: [UInt8], _ head: String = "") -> [UInt8] {
            names.flatMap { name in
                Array("--b\r\nContent-Disposition: form-data; name=f; filename=\(name)\r\n\(head)\r\n".utf8)
                    + content + Array("\r\n".utf8)
            } + Array("--b--\r\n".utf8)
        }

        private static func digest(_ content: [UInt8], _ function: DigestFunction) -> Digest {
            content.withUnsafeBytes { ContentDigester.digest(function, $0) }
        }

        /// Sends the content to `PATH` in every way that HTTP has, and returns the `ETag` of each last answer.
        private static func tags(_ client: HTTPClient, _ content: [UInt8], _ query: String) throws -> [String?] {
            let (front, rest) = (Array(content.prefix(5)), Array(content.dropFirst(5)))
            let length = [("Upload-Length", "\(content.count)")]
            let put = try client.ask(.put, "/put\(query)", [], content)
            _ = try client.ask(.post, "/\(query)", [form], form(["form"], content))
            let whole = try client.ask(
                .post, "/.transfer/tus/\(query)", piece + length + metadata([("filename", "whole")]), content)
            let tus = try #require(
                try client.ask(
                    .post, "/.transfer/tus/\(query)", piece + length + metadata([("filename", "tus")]), front)[
                        "location"])
            let patched = try client.ask(.patch, tus, piece + [("Upload-Offset", "5")], rest)
            let begun = try #require(
                try client.ask(.put, "/up\(query)", draft + [("Upload-Complete", "?0")], front)["location"])
            let fields = [("Upload-Complete", "?1"), ("Upload-Offset", "5")]
            let resumed = try client.ask(
                .patch, begun, draft + fields + [("Content-Type", "application/partial-upload")], rest)
            let inForm = try client.ask(.head, "/form")
            return [put, whole, patched, resumed, inForm].map { $0["etag"] }
        }

        @Test(arguments: [10, (4 << 20) + 7]) func theClientChoosesTheFunction(_ size: Int) async throws {
            try await servingHTTP { server in
                let client = try HTTPClient(server)
                let content = SplitMix64.bytes(seed: 3, size)
                for (query, function) in [
                    ("?digest=sha256", DigestFunction.sha256), ("?digest=xxh128", .xxh128), ("", .xxh128),
                ] {
                    let digest = Self.digest(content, function)
                    let tag = "\"\(digest.algorithm.name)-\(digest.hexadecimal)\""
                    #expect(try Self.tags(client, content, query).allSatisfy { $0 == tag }, "\(query)")
                    for name in server.tree { #expect(try client.ask(.delete, "/\(name)").status == 204) }
                }
                let field = try client.ask(.put, "/field", [("Transfer-Digest", "sha256")], content)
                #expect(field["etag"]?.contains("sha256") ?? false)
            }
        }

        @Test func anUnknownFunctionIsRefused() async throws {
            try await servingHTTP { server in
                let client = try HTTPClient(server)
                for query in ["?digest=md5", "?digest=", "?digest=SHA256", "?digest=sha256&digest=sha256"] {
                    #expect(try client.ask(.put, "/a\(query)", [], [1]).status == 400, "\(query)")
                    #expect(try client.ask(.post, "/\(query)", [Self.form], Self.form(["a"], [1])).status == 400)
                    let fields = Self.piece + [("Upload-Length", "1")] + Self.metadata([("filename", "a")])
                    #expect(try client.ask(.post, "/.transfer/tus/\(query)", fields, [1]).status == 400)
                }
                let refused = try client.ask(.put, "/a", [("Transfer-Digest", "sha1")], [1])
                #expect(refused.status == 400 && refused.text.contains("unsupportedDigest"))
                #expect(server.tree == [])
            }
        }

        /// The pieces of an upload arrive at two servers, and the digest is still that of the function that the first request has named.
        @Test func anotherServerGoesOnWithTheFunction() async throws {
            let directory = try TemporaryDirectory()
            let content = SplitMix64.bytes(seed: 4, (8 << 20) + 100)
            let cut = (4 << 20) + 50
            let address = Locked("")
            try await servingHTTP(in: directory) { server in
                let client = try HTTPClient(server)
                let fields = Self.piece + [("Upload-Length", "\(content.count)")] + Self.metadata([("filename", "a")])
                let begun = try client.ask(
                    .post, "/.transfer/tus/?digest=sha256", fields, Array(content[..<cut]))
                let location = try #require(begun["location"])
                address.withLock { $0 = location }
            }
            try await servingHTTP(in: directory) { server in
                let client = try HTTPClient(server)
                let fields = Self.piece + [("Upload-Offset", "\(cut)")]
                let ended = try client.ask(.patch, address.withLock { $0 }, fields, Array(content[cut...]))
                #expect(ended["etag"] == "\"sha256-tree-4m-\(Self.digest(content, .sha256).hexadecimal)\"")
                #expect(server.content("a") == content)
            }
        }

        // MARK: Times

        private static func modified(_ client: HTTPClient, _ path: String) throws -> String? {
            let text = try client.ask(.get, "/?json").text
            let object = text.split(separator: "}").first { $0.contains("\"path\":\"\(path)\"") }
            return object?.split(separator: "\"modified\":\"").last.map { String($0.prefix { $0 != "\"" }) }
        }

        private static let times = [
            ("0", "1970-01-01T00:00:00Z"), ("1700000000", "2023-11-14T22:13:20Z"),
            ("1700000000.25", "2023-11-14T22:13:20.25Z"),
            ("1700000000.000000001", "2023-11-14T22:13:20.000000001Z"),
        ]

        @Test(arguments: times) func filesGetTheirTime(_ seconds: String, _ time: String) async throws {
            try await servingHTTP { server in
                let client = try HTTPClient(server)
                #expect(try client.ask(.put, "/put", [("Transfer-Modified", seconds)], [1]).status == 201)
                let cloud = try client.ask(.put, "/cloud", [("X-OC-Mtime", seconds)], [2])
                #expect(cloud.status == 201 && cloud["x-oc-mtime"] == "accepted")
                let form = Self.form(["form"], [3], "Transfer-Modified: \(seconds)\r\n")
                #expect(try client.ask(.post, "/", [Self.form], form).status == 201)
                let fields = Self.piece + [("Upload-Length", "2")]
                let pairs = [("filename", "tus"), ("mtime", seconds)]
                let begun = try client.ask(.post, "/.transfer/tus/", fields + Self.metadata(pairs), [4])
                let place = try #require(begun["location"])
                #expect(try client.ask(.patch, place, Self.piece + [("Upload-Offset", "1")], [5]).status == 204)
                let draft = Self.draft + [("Upload-Complete", "?1"), ("Transfer-Modified", seconds)]
                #expect(try client.ask(.put, "/up", draft, [6]).status == 201)
                for name in ["put", "cloud", "form", "tus", "up"] {
                    #expect(try Self.modified(client, name) == time, "\(name)")
                }
            }
        }

        @Test(arguments: [
            "", "x", "1.", ".5", "1.2.3", "1e9", "+1", "--1", "1.0000000001", "9223372036854775808", "0x1",
        ])
        func malformedTimesAreRefused(_ seconds: String) async throws {
            try await servingHTTP { server in
                let client = try HTTPClient(server)
                for field in ["Transfer-Modified", "X-OC-Mtime"] {
                    #expect(try client.ask(.put, "/a", [(field, seconds)], [1]).status == 400)
                }
                let form = Self.form(["a"], [3], "Transfer-Modified: \(seconds)\r\n")
                #expect(try client.ask(.post, "/", [Self.form], form).status == 400)
                #expect(server.tree == [])
                // Clients of tus send metadata that has a meaning for them only.
                let pairs = [("filename", "tus"), ("mtime", seconds)]
                let fields = Self.piece + [("Upload-Length", "1")] + Self.metadata(pairs)
                #expect(try client.ask(.post, "/.transfer/tus/", fields, [4]).status == 201)
            }
        }

        @Test func contradictingTimesAreRefused() async throws {
            try await servingHTTP { server in
                let client = try HTTPClient(server)
                let fields = [("Transfer-Modified", "1"), ("X-OC-Mtime", "2")]
                #expect(try client.ask(.put, "/a", fields, [1]).status == 400)
                #expect(try client.ask(.put, "/a", [fields[0], ("X-OC-Mtime", "1.0")], [1]).status == 201)
                // Content that is there already keeps its time.
                let again = try client.ask(.put, "/a", [fields[1]], [1])
                #expect(again["transfer-result"] == "alreadyStored" && again["x-oc-mtime"] == nil)
            }
        }

        // MARK: Lost answers

        /// A client that has lost the last answer learns everything from a HEAD that the answer has said.
        @Test func theResultCanBeReadAgain() async throws {
            try await servingHTTP { server in
                let client = try HTTPClient(server)
                let content = SplitMix64.bytes(seed: 5, (4 << 20) + 9)
                let fields =
                    Self.piece + [("Upload-Length", "\(content.count)")] + Self.metadata([("filename", "in/ä")])
                let first = try client.ask(.post, "/.transfer/tus/?digest=sha256", fields, content)
                let place = try #require(first["location"])
                #expect(first.status == 201 && first["etag"]?.hasPrefix("\"sha256-tree-4m-") ?? false)
                for _ in 0..<2 {
                    let again = try client.ask(.head, place, Self.tus)
                    #expect(again["etag"] == first["etag"] && again["content-location"] == "/in/%C3%A4")
                    #expect(again["transfer-result"] != nil && again["upload-offset"] == "\(content.count)")
                }
                let draft = Self.draft + [("Upload-Complete", "?0")]
                let begun = try #require(try client.ask(.put, "/b", draft, [1])["location"])
                let unfinished = try client.ask(.head, begun, Self.draft)
                #expect(unfinished["etag"] == nil && unfinished["transfer-result"] == nil)
                let end = [
                    ("Upload-Offset", "1"), ("Content-Type", "application/partial-upload"), ("Upload-Complete", "?1"),
                ]
                let ended = try client.ask(.patch, begun, Self.draft + end, [2])
                let again = try client.ask(.head, begun, Self.draft)
                #expect(ended["etag"] != nil && again["etag"] == ended["etag"] && again["content-location"] == "/b")
                // A file that has changed since is not what was acknowledged.
                #expect(try client.ask(.put, "/b", [], [9]).status == 200)
                #expect(try client.ask(.head, begun, Self.draft).status == 404)
            }
        }
    }
}
