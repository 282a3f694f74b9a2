import Testing
import TransferHTTP
import TransferModel
import TransferProtocol
import TransferTestSupport

@testable import TransferServer

extension ServerTests {
    /// Files in forms, as browsers and `curl -F` send them.
    @Suite(.overEachStore) struct HTTPFormTests {
        private static let type = ("Content-Type", "multipart/form-data; boundary=----b")

        private static func part(_ head: String, _ content: [UInt8]) -> [UInt8] {
            Array("------b\r\nContent-Disposition: form-data; \(head)\r\n\r\n".utf8) + content + Array("\r\n".utf8)
        }

        private static func file(_ name: String, _ content: [UInt8]) -> [UInt8] {
            part("name=\"file\"; filename=\"\(name)\"", content)
        }

        private static let end = Array("------b--\r\n".utf8)

        @Test func eachFileIsAnUpload() async throws {
            try await servingHTTP { server in
                let client = try HTTPClient(server)
                let long = SplitMix64.bytes(seed: 9, 5 << 20)
                let form =
                    Self.part("name=\"note\"", Array("a field".utf8)) + Self.file("a.txt", [1, 2])
                    + Self.file("b c.bin", long) + Self.file("", []) + Self.file("empty", []) + Self.end
                let answer = try client.ask(.post, "/in/", [Self.type], form)
                #expect(answer.status == 201)
                #expect(answer.text.split(separator: "\"schema\":\"transfer.upload/1\"").count == 4)
                #expect(answer.text.contains("\"storedPath\":\"in/b c.bin\""))
                #expect(server.tree == ["in", "in/a.txt", "in/b c.bin", "in/empty"])
                #expect(server.content("in/a.txt") == [1, 2] && server.content("in/b c.bin") == long)
                // A client that sends the same names again replaces no file.
                #expect(try client.ask(.post, "/in/", [Self.type], Self.file("a.txt", [3]) + Self.end).status == 201)
                #expect(server.content("in/a.txt") == [1, 2] && server.content("in/a-1.txt") == [3])
                let replacing = try client.ask(
                    .post, "/in/?on-conflict=overwrite", [Self.type], Self.file("a.txt", [4]) + Self.end)
                #expect(replacing.status == 201 && server.content("in/a.txt") == [4])
                #expect(server.parts == [])
            }
        }

        /// Two files of one form have the same name. The server must not acknowledge both unless it stores both.
        @Test func aFileOfTheSameFormIsNotReplaced() async throws {
            try await servingHTTP { server in
                let client = try HTTPClient(server)
                let form = Self.file("a", [1]) + Self.file("a", [2]) + Self.end
                let answer = try client.ask(.post, "/?on-conflict=overwrite", [Self.type], form)
                #expect(answer.status == 207 && answer.text.contains("\"result\":\"pathConflict\""))
                #expect(server.content("a") == [1] && server.tree == ["a"])
                #expect(try client.ask(.post, "/?on-conflict=overwrite", [Self.type], form).status == 207)
                #expect(server.content("a") == [1])
            }
        }

        /// A browser gets the page of the folder, which contains the form.
        @Test func aBrowserSeesTheFolderAgain() async throws {
            try await servingHTTP { server in
                let client = try HTTPClient(server)
                let html = ("Accept", "text/html,application/xhtml+xml,*/*;q=0.8")
                #expect(try client.ask(.get, "/?table", [html]).text.contains("enctype=\"multipart/form-data\""))
                let fields = [Self.type, html, ("Origin", "https://server")]
                let answer = try client.ask(.post, "/", fields, Self.file("a", [1]) + Self.end)
                #expect(answer.status == 303 && answer["location"] == "/" && server.tree == ["a"])
                let others = [Self.type, html, ("Origin", "https://evil.example")]
                let refused = try client.ask(.post, "/", others, Self.file("b", [1]) + Self.end)
                #expect(refused.status == 403 && server.tree == ["a"])
            }
        }

        @Test(arguments: ["../x", "/x", ".transfer/x", "a/../../x", "..", ".", "a//b", "a\\\\b"])
        func namesLeadNowhereElse(_ name: String) async throws {
            try await servingHTTP { server in
                let client = try HTTPClient(server)
                let form = Self.file("good", [1]) + Self.file(name, [2]) + Self.end
                let answer = try client.ask(.post, "/in/", [Self.type], form)
                #expect(answer.status == 207 && answer.text.contains("\"result\":\"invalidPath\""))
                #expect(server.tree == ["in", "in/good"])
                #expect(try client.ask(.post, "/in/", [Self.type], Self.file(name, [2]) + Self.end).status == 400)
                try server.checkServes()
            }
        }

        /// Complete files are stored before the end of the form, so a client that never ends its form does not keep
        /// hundreds of files open.
        @Test func filesDoNotWaitForTheEndOfTheForm() async throws {
            try await servingHTTP { server in
                let client = try HTTPClient(server)
                let head = "POST /in/ HTTP/1.1\r\nHost: server\r\nContent-Type: \(Self.type.1)\r\n"
                let form = (0..<200).flatMap { Self.file("f\($0)", [1]) } + Self.file("last", [2]) + Self.end
                let rest = form.count - 20
                client.send(bytes: "\(head)Content-Length: \(form.count)\r\n\r\n", for: .post)
                client.raw.send(Array(form[..<rest]))
                try server.waitUntil("the files are stored") { server.content("in/f199") == [1] }
                client.raw.send(Array(form[rest...]))
                let answer = try client.answer()
                #expect(answer.status == 201)
                #expect(answer.text.split(separator: "\"schema\":\"transfer.upload/1\"").count == 202)
                #expect(server.content("in/last") == [2] && server.parts == [])
            }
        }

        /// Files that were complete before the fault are stored, and the answer says so. An incomplete file is not
        /// stored.
        @Test func aFormThatEndsTooEarly() async throws {
            try await servingHTTP { server in
                let client = try HTTPClient(server)
                let cut = Self.file("a", [1]) + Self.file("b", [2, 3]).dropLast(3)
                let answer = try client.ask(.post, "/", [Self.type], cut)
                #expect(answer.status == 400 && answer["content-type"] == "application/problem+json")
                #expect(answer.text.contains("\"storedPath\":\"a\"") && answer.text.contains("\"result\":\"aborted\""))
                #expect(server.tree == ["a"] && server.parts == [])
                let vanishing = try HTTPClient(server)
                vanishing.send(
                    bytes: "POST / HTTP/1.1\r\nHost: s\r\nContent-Type: \(Self.type.1)\r\nContent-Length: 1000\r\n\r\n"
                        + String(decoding: Self.file("c", [1]) + Self.file("d", [2]), as: UTF8.self), for: .post)
                vanishing.raw.endSending()
                _ = try? vanishing.answer()
                try server.waitUntil("nothing is under way") { server.parts == [] }
                #expect(server.content("d") == nil)
            }
        }

        @Test func whatIsNoFormIsRefused() async throws {
            try await servingHTTP { server in
                let client = try HTTPClient(server)
                let types: [(String, Int)] = [
                    ("application/x-www-form-urlencoded", 415), ("multipart/mixed; boundary=b", 415),
                    ("multipart/form-data", 400), ("multipart/form-data; boundary=\"\"", 400),
                ]
                for (type, status) in types {
                    let answer = try client.ask(.post, "/", [("Content-Type", type)], Array("a=b".utf8))
                    #expect(answer.status == status)
                }
                #expect(try client.ask(.post, "/", [], Array("a=b".utf8)).status == 415)
                #expect(try client.ask(.post, "/", [Self.type], Self.end).status == 400)
                #expect(try client.ask(.post, "/x", [Self.type], Self.file("a", [1]) + Self.end).status == 405)
                #expect(server.tree == [])
            }
        }
    }
}
