import CPage
import Testing
import TransferAccess
import TransferCodec
import TransferHTTP
import TransferModel
import TransferTestSupport

@testable import TransferServer

extension ServerTests {
    /// What a browser gets that opens an address of the server.
    @Suite(.overEachStore) struct HTTPPageTests {
        /// The fields of a browser that opens an address.
        private static let browser = [
            ("Accept", "text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,*/*;q=0.8"),
            ("Accept-Language", "de-DE,de;q=0.9"),
        ]

        private static func serving(_ body: @escaping @Sendable (HTTPClient, TestServer) throws -> Void) async throws {
            try await servingHTTP { server in try body(try HTTPClient(server), server) }
        }

        /// Stores files of three bytes.
        private static func store(_ client: HTTPClient, _ paths: String...) throws {
            for path in paths {
                #expect(try client.ask(.put, "/" + PercentEncoding.path(path.utf8), [], [1, 2, 3]).status == 201)
            }
        }

        @Test func aFolderIsAPage() async throws {
            try await Self.serving { client, _ in
                try Self.store(client, "f/<b>")
                for path in ["/", "/f/", "/f/?from=mail"] {
                    let page = try client.ask(.get, path, Self.browser)
                    #expect(page.status == 200 && page["content-type"] == "text/html; charset=utf-8")
                    #expect(
                        page.text.contains(#"<html lang="de""#)
                            && page.text.contains(#"data-rights="read write remove""#))
                    #expect(!page.text.contains("data-session") && !page.text.contains("&lt;b&gt;"))
                    let policy = try #require(page["content-security-policy"])
                    #expect(
                        policy.contains("script-src 'self'") && policy.contains("require-trusted-types-for 'script'"))
                    #expect(!policy.contains("unsafe"))
                }
                #expect(try client.ask(.get, "/f", Self.browser)["location"] == "/f/")
                // Programs that do not ask for a page get the table, as before.
                #expect(try client.ask(.get, "/f/").text.contains("&lt;b&gt;"))
                let table = try client.ask(.get, "/?table", Self.browser)
                #expect(table.text.contains(#"<a href="./f/?table">"#) && table.text.contains("Ordner"))
            }
        }

        /// Every file that the page names is there, for a client without credentials too, and can be kept for good.
        @Test func thePageHasItsFiles() async throws {
            try await Self.serving { client, _ in
                let page = try client.ask(.get, "/", Self.browser).text
                let addresses = page.matches(of: /(?:href|src)="(\/[^"]*)"/).map { String($0.output.1) }
                #expect(addresses.count >= 4)
                for address in addresses {
                    let plain = try client.ask(.get, address)
                    #expect(plain.status == 200 && plain["cache-control"]?.contains("immutable") == true, "\(address)")
                    let deflated = try client.ask(.get, address, [("Accept-Encoding", "gzip, deflate, br")])
                    if deflated["content-encoding"] == "deflate" {
                        #expect(deflated.content.count < plain.content.count)
                        #expect(try Self.inflated(deflated.content, size: plain.content.count) == plain.content)
                    }
                    #expect(try client.ask(.head, address).status == 200)
                    #expect(try client.ask(.get, address.replacing(/page\/./, with: "page/x")).status == 404)
                }
                let folder = PageAssets.shared.folder
                for name in ["", "nothing.js", "../page.css", "main.js/"] {
                    #expect([400, 404].contains(try client.ask(.get, folder + name).status))
                }
            }
        }

        private static func inflated(_ bytes: [UInt8], size: Int) throws -> [UInt8] {
            var output = [UInt8](repeating: 0, count: size)
            let inflater = Inflater(engine: .zlib)
            inflater.begin(limit: size)
            let count = try bytes.withUnsafeBytes { input in
                var consumed = 0
                return try output.withUnsafeMutableBytes { try inflater.inflate(input, consumed: &consumed, into: $0) }
            }
            try inflater.finish()
            return Array(output.prefix(count))
        }

        /// The list of files in the program is the folder of assets, so that no new file is forgotten.
        @Test func allFilesAreInTheProgram() throws {
            let root = "/" + #filePath.split(separator: "/").dropLast(5).joined(separator: "/")
            let names = TransferTestSupport.names(in: root + "/Sources/CPage/assets").filter { !$0.hasSuffix(".d.ts") }
            #expect(names.sorted() == (0..<cpage_count()).map { String(cString: cpage_file_at($0).name) }.sorted())
        }

        @Test(arguments: [
            ("a // b\n// c\n\n  // d\ne", "a // b\ne\n"), ("/** a */\nb\n/* c\n * d\n */\ne", "b\ne\n"),
            ("  /** @type {A} */ (a).b();\nc /* d */\n", "/** @type {A} */ (a).b();\nc /* d */\n"),
            ("*, b { c: d }\n", "*, b { c: d }\n"), ("/* a\nb */\n* { c }", "* { c }\n"), ("", ""),
        ]) func commentsAreNotSent(_ text: String, _ sent: String) {
            #expect(String(decoding: PageAssets.withoutComments(text.utf8), as: UTF8.self) == sent)
        }

        /// Most bytes of what a browser loads for its first folder, compressed as it is sent.
        private static let mostBytes = 30 << 10

        @Test(arguments: ["en", "zh", "de"]) func thePageIsSmall(_ language: String) {
            let assets = PageAssets.shared
            let names = PageAssets.modules(language) + ["page.css", "icon.svg"]
            #expect(names.allSatisfy { assets[$0] != nil })
            let size = names.compactMap { assets[$0] }.reduce(0) { $0 + ($1.deflated ?? $1.bytes).count }
            #expect(size < Self.mostBytes)
        }

        /// A person reads why something is not there, and what to do; a program reads problem details.
        @Test func errorsArePagesForPeople() async throws {
            try await Self.serving { client, server in
                #expect(server.put([1], "a"))
                for (path, status) in [("/nothing", 404), ("/nothing/", 404), ("/a/", 409), ("/.transfer/x", 400)] {
                    let page = try client.ask(.get, path, Self.browser)
                    #expect(page.status == status && page["content-type"] == "text/html; charset=utf-8", "\(path)")
                    #expect(page.text.contains(#"<html lang="de">"#) && page.text.contains(#"<a href="/">"#))
                    #expect(
                        !page.text.contains("{" + "\"") && page["content-security-policy"]?.contains("'none'") == true)
                    let problem = try client.ask(.get, path)
                    #expect(problem.status == status && problem["content-type"] == "application/problem+json")
                }
                // A picture in a page, or a script, gets no page.
                let picture = try client.ask(.get, "/nothing", [("Accept", "image/avif,image/webp,*/*;q=0.8")])
                #expect(picture["content-type"] == "application/problem+json")
            }
        }

        @Test func aNameInAnErrorIsText() async throws {
            try await Self.serving { client, _ in
                let page = try client.ask(.get, "/%3Cscript%3Ealert(1)%3C/script%3E%E2%80%AE", Self.browser)
                #expect(page.status == 404 && !page.text.contains("<script"))
            }
        }

        // MARK: Below a folder

        @Test func namesAreFoundBelow() async throws {
            try await Self.serving { client, _ in
                try Self.store(client, "f/Holiday.jpg", "f/g/h/holiday 2.jpg", "f/other.txt", "outside-holiday")
                let answer = try client.ask(.get, "/f/?find=HOLIDAY", [("Accept", "application/x-ndjson")])
                let lines = try answer.content.split(separator: UInt8(ascii: "\n")).map {
                    try JSONReader.read(Array($0))
                }
                let paths = lines.dropLast().map { $0["path"] }
                #expect(Set(paths.map { "\($0 ?? .null)" }).count == 2)
                #expect(answer.text.contains("\"f/Holiday.jpg\"") && answer.text.contains("\"f/g/h/holiday 2.jpg\""))
                #expect(lines.last?["schema"] == .string("transfer.found/1"))
                #expect(lines.last?["entries"] == .number("2") && lines.last?["complete"] == .bool(true))
                #expect(try client.ask(.get, "/nothing/?find=a").status == 404)
            }
        }

        @Test func aFolderHasASize() async throws {
            try await Self.serving { client, _ in
                try Self.store(client, "f/a", "f/g/b", "f/g/h/c", "d")
                let answer = try client.ask(.get, "/f/?size").text
                #expect(answer.contains(#""files":3,"folders":2,"size":9,"complete":true"#), "\(answer)")
                for path in ["/f/?size", "/f/?find=a", "/.transfer/trash/", "/"] {
                    let head = try client.ask(.head, path)
                    #expect(head.status == 200 && head.content.isEmpty, "\(path)")
                }
                #expect(try client.ask(.get, "/?size").text.contains(#""files":4"#))
                #expect(try client.ask(.get, "/f/a/?size").status == 409)
            }
        }
    }
}
