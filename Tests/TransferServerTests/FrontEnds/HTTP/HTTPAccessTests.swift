import Glibc
import Testing
import TransferAccess
import TransferHTTP
import TransferIO
import TransferKeys
import TransferModel
import TransferProtocol
import TransferTestSupport

@testable import TransferServer

extension ServerTests {
    /// Access over HTTP follows the rules of all protocols.
    @Suite(.overEachStoreIfAsked) struct HTTPAccessTests {
        private let directory: TemporaryDirectory
        private let lists: any AccessLists

        init() throws {
            directory = try TemporaryDirectory()
            lists = try StoreKind.current.access(in: directory)
        }

        /// - Parameter http: use of HTTP on the server's port.
        private func serving(
            _ http: HTTPUse = .on, _ body: @escaping @Sendable (TestServer) throws -> Void
        ) async throws {
            let change = { @Sendable (configuration: inout ServerConfiguration) in
                configuration.security = .identity
                configuration.access = .listed(owner: nil)
                configuration.http = http
            }
            try await TransferServerTests.serving(change, in: directory, body)
        }

        private func issue(_ name: String, _ rights: AccessRights) throws -> AccessSecret {
            var options = AccessOptions()
            (options.rights, options.folder) = (rights, try RelativePath("r"))
            return try lists.issue(.token, name: name, options: options, at: .now)
        }

        private static func bearer(_ token: AccessSecret) -> [(String, String)] {
            [("Authorization", "Bearer \(token.text)")]
        }

        /// An upload in progress, in one piece or resumable, is not acknowledged after its client has lost access.
        @Test(arguments: [false, true]) func whatHasBegunIsNotFinishedWithoutAccess(isResumable: Bool) async throws {
            let token = try lists.issue(.token, name: "camera", options: AccessOptions(), at: .now)
            try await serving { [lists] server in
                let client = try HTTPClient(server, isSecured: true)
                var text = "PUT /x HTTP/1.1\r\nHost: s\r\nContent-Length: 2\r\nExpect: 100-continue\r\n"
                text += "Authorization: Bearer \(token.text)\r\n"
                if isResumable { text += "Upload-Complete: ?1\r\nUpload-Draft-Interop-Version: 8\r\n" }
                client.send(bytes: text + "\r\n", for: .put)
                while try client.interim().status != 100 {}
                _ = try lists.revoke { _ in true }
                client.raw.send([1, 2])
                #expect(try client.answer().status == 401)
                #expect(server.tree == [])
            }
        }

        @Test func onlyWhoMayComesIn() async throws {
            let token = try lists.issue(.token, name: "camera", options: AccessOptions(), at: .now)
            try await serving { server in
                let client = try HTTPClient(server, isSecured: true)
                let nobody = try client.ask(.put, "/x", [], [1])
                #expect(nobody.status == 401)
                #expect(nobody.head.fields.values("www-authenticate").count == 2)
                let wrong = try client.ask(.put, "/x", Self.bearer(.random(.token)), [1])
                #expect(wrong.status == 401 && server.tree == [])
                #expect(try client.ask(.put, "/x", Self.bearer(token), [1]).status == 201)
                // Credentials of one request do not count for the next one.
                #expect(try client.ask(.get, "/x").status == 401)
                let basic = "Basic " + Base64Text.encode(Array("me:\(token.text)".utf8))
                #expect(try client.ask(.get, "/x", [("Authorization", basic)]).content == [1])
                try server.checkServesToken(token)
            }
        }

        @Test func rightsAndFoldersAreThoseOfTheList() async throws {
            let (reader, writer) = (try issue("reader", .readOnly), try issue("writer", .writeOnly))
            try await serving { server in
                let client = try HTTPClient(server, isSecured: true)
                let stored = try client.ask(.put, "/a", Self.bearer(writer), [1])
                #expect(stored.status == 201 && stored["location"] == "/a" && server.tree == ["r", "r/a"])
                #expect(stored.text.contains("\"storedPath\":\"a\""))
                #expect(try client.ask(.get, "/a", Self.bearer(writer)).status == 403)
                #expect(try client.ask(.get, "/", Self.bearer(writer)).status == 403)
                #expect(try client.ask(.get, "/a", Self.bearer(reader)).content == [1])
                #expect(try client.ask(.put, "/b", Self.bearer(reader), [1]).status == 403)
                #expect(try client.ask(.delete, "/a", Self.bearer(reader)).status == 403)
                // A client sees no files above its folder.
                let outside = try client.ask(.get, "/r/a", Self.bearer(reader))
                #expect(outside.status == 404 && !outside.text.contains("r/r"))
            }
        }

        /// Lists have the rights of their client, and its folder.
        @Test func listsHaveTheRightsOfTheirClient() async throws {
            let tokens = [
                (try issue("reader", .readOnly), ["forbidden", "forbidden", "forbidden", "forbidden"], 200),
                (try issue("writer", .writeOnly), ["completed", "forbidden", "forbidden", "forbidden"], 403),
                (try issue("all", .readWrite), ["completed", "completed", "completed", "completed"], 200),
            ]
            try await serving { server in
                let client = try HTTPClient(server, isSecured: true)
                #expect(server.put([1], "outside"))
                for (token, results, status) in tokens {
                    let inside = try client.ask(.put, "/inside", Self.bearer(tokens[2].0), [2])
                    #expect([200, 201].contains(inside.status))
                    let list = """
                        [{"change":"mkdir","path":"d"},{"change":"copy","path":"inside","target":"copy"},\
                        {"change":"move","path":"inside","target":"moved"},{"change":"remove","path":"moved"},\
                        {"change":"remove","path":"outside"},{"change":"move","path":"../outside","target":"x"}]
                        """
                    let fields = Self.bearer(token) + [("Content-Type", "application/json")]
                    let lines = try client.ask(.post, "/.transfer/changes", fields, Array(list.utf8)).text
                    let found = lines.split(separator: "\n").map { line in
                        line.split(separator: "\"result\":\"")[1].prefix { $0 != "\"" }
                    }
                    #expect(found.prefix(4).map { String($0) } == results)
                    #expect(!found[4...].contains("completed") && server.content("outside") == [1])
                    #expect(!lines.contains("r/"))
                    let known = Array(#"[{"path":"outside","size":1},{"path":"inside","size":1}]"#.utf8)
                    #expect(try client.ask(.post, "/.transfer/known", fields, known).status == status)
                    let trash = try client.ask(.get, "/.transfer/trash/", fields)
                    #expect(trash.status == (results[3] == "completed" ? 200 : 403))
                }
            }
        }

        /// A list whose client loses its access while it sends the list changes nothing.
        @Test func aListNeedsAccessAtItsEnd() async throws {
            let token = try lists.issue(.token, name: "camera", options: AccessOptions(), at: .now)
            try await serving { [lists] server in
                let client = try HTTPClient(server, isSecured: true)
                let list = Array(#"[{"change":"mkdir","path":"d"}]"#.utf8)
                client.send(
                    bytes: "POST /.transfer/changes HTTP/1.1\r\nHost: s\r\nAuthorization: Bearer \(token.text)\r\n"
                        + "Content-Type: application/json\r\nContent-Length: \(list.count)\r\n"
                        + "Expect: 100-continue\r\n\r\n", for: .post)
                while try client.interim().status != 100 {}
                _ = try lists.revoke { _ in true }
                client.raw.send(list)
                #expect(try client.answer().status == 401)
                #expect(server.tree == [])
            }
        }

        /// Folders count for their client, whether it makes them itself or stores files in them.
        @Test func foldersCountForTheirClient() async throws {
            var options = AccessOptions()
            options.maximumFiles = 3
            let token = try lists.issue(.token, name: "camera", options: options, at: .now)
            try await serving { server in
                let client = try HTTPClient(server, isSecured: true)
                let way = Self.bearer(token)
                #expect(try client.ask(.put, "/a/b/", way).status == 201)
                #expect(try client.ask(.put, "/a/b/", way).status == 200)
                #expect(try client.ask(.put, "/c/d/", way).status == 507)
                #expect(try client.ask(.put, "/c/", way).status == 201)
                #expect(try client.ask(.put, "/d/", way).status == 507)
                #expect(try client.ask(.put, "/e", way, [1]).status == 507)
                #expect(server.tree == ["a", "a/b", "c"])
            }
        }

        /// A proxy may send requests of different clients over one connection. Each request is answered, in order.
        @Test func requestsOfTwoClientsAreAnsweredInOrder() async throws {
            let tokens = [try issue("one", .readWrite), try issue("two", .readWrite)]
            try await serving { server in
                let client = try HTTPClient(server, isSecured: true)
                for number in 0..<20 {
                    client.send(.put, "/\(number)", Self.bearer(tokens[number % 2]), [UInt8(number)])
                    client.send(.get, "/\(number)", Self.bearer(tokens[1 - number % 2]))
                }
                for number in 0..<20 {
                    let stored = try client.answer()
                    #expect(stored.status == 201 && stored["location"] == "/\(number)")
                    #expect(try client.answer().content == [UInt8(number)])
                }
            }
        }

        /// The access of an endless stream is checked while the server receives it.
        @Test func aStreamEndsWithItsAccess() async throws {
            let token = try lists.issue(.token, name: "camera", options: AccessOptions(), at: .now)
            let lists = lists
            try await serving { server in
                let client = try HTTPClient(server, isSecured: true)
                client.send(
                    bytes: "PUT /x HTTP/1.1\r\nHost: s\r\nAuthorization: Bearer \(token.text)\r\n"
                        + "Expect: 100-continue\r\nTransfer-Encoding: chunked\r\n\r\n", for: .put)
                #expect(try client.interim().status == 100)
                _ = try lists.revoke { $0.name.hasSameBytes(as: "camera") }
                try server.waitUntil("it was given up") {
                    client.raw.send(Array("1\r\na\r\n".utf8))
                    return client.raw.hasAnswer(within: 1)
                }
                #expect([401, 403].contains(try client.answer().status) && server.tree == [])
            }
        }

        /// The server checks access again with every request on a connection.
        @Test func whoIsThrownOutIsOut() async throws {
            let token = try lists.issue(.token, name: "camera", options: AccessOptions(), at: .now)
            let lists = lists
            try await serving { server in
                let client = try HTTPClient(server, isSecured: true)
                #expect(try client.ask(.put, "/x", Self.bearer(token), [1]).status == 201)
                _ = try lists.revoke { $0.name.hasSameBytes(as: "camera") }
                let refused = try client.ask(.put, "/y", Self.bearer(token), [1])
                #expect([401, 403].contains(refused.status) && server.tree == ["x"])
            }
        }

        /// An answer under way ends when its client loses the right to it.
        @Test(.directoryOnly) func aDownloadEndsWithTheRightToRead() async throws {
            let (pair, size) = (KeyPair(), 1 << 30)
            try lists.admit(AuthorizedKey(pair.key, name: "laptop"))
            #expect(close(creat(directory.path("store/long"), 0o644)) == 0)
            #expect(truncate(directory.path("store/long"), size) == 0)
            try await serving { [lists] server in
                let raw = try server.client()
                try raw.secure(pair, protocols: ["http/1.1"])
                HTTPClient(raw).send(.get, "/long")
                // TLS can have records without content.
                var begun: [UInt8] = []
                while begun.isEmpty { begun = try #require(try raw.some()) }
                #expect(begun.starts(with: Array("HTTP/1.1 200 ".utf8)))
                var options = AccessOptions()
                options.rights = .writeOnly
                try lists.replace(AuthorizedKey(pair.key, name: "laptop", options: options))
                // Reading all of the file would take longer than a tenth of a second.
                var count = 0
                while let bytes = try? raw.some() { count += bytes.count }
                #expect(count < size, "it went on")
            }
        }

        /// A client is admitted by the key that it has shown in TLS.
        @Test func aKeyLetsIn() async throws {
            let pair = KeyPair()
            try lists.admit(AuthorizedKey(pair.key, name: "laptop"))
            try await serving { server in
                let raw = try server.client()
                try raw.secure(pair, protocols: ["http/1.1"])
                #expect(try HTTPClient(raw).ask(.put, "/x", [], [1]).status == 201)
            }
        }

        /// The first byte chooses the front end if the client has offered no protocols in TLS.
        @Test(arguments: [[], ["http/1.1"], ["h2", "http/1.1"]])
        func theFrontEndIsFound(_ protocols: [String]) async throws {
            let token = try lists.issue(.token, name: "camera", options: AccessOptions(), at: .now)
            for http in [HTTPUse.on, .only] {
                try await serving(http) { server in
                    let raw = try server.client()
                    try raw.secure(protocols: protocols)
                    #expect(try HTTPClient(raw).ask(.get, "/", Self.bearer(token)).status == 200)
                }
            }
        }

        /// A browser is sent to the same address with `https`. Nothing is read or stored without encryption.
        @Test func whoDoesNotEncryptIsSentToHTTPS() async throws {
            let token = try lists.issue(.token, name: "camera", options: AccessOptions(), at: .now)
            try await serving { server in
                for path in ["/", "/a%20b?x=%3C", "/.transfer/in/x"] {
                    let answer = try HTTPClient(server).ask(.get, path, Self.bearer(token))
                    #expect(answer.status == 307 && answer["connection"] == "close", "\(path)")
                    #expect(answer["location"] == "https://server\(path)")
                    #expect(answer.text.contains("\"result\":\"encryptionRequired\""))
                }
                let client = try HTTPClient(server)
                let refused = try client.ask(.put, "/x", Self.bearer(token), [1])
                #expect(refused.status == 400 && refused["connection"] == "close" && refused["location"] == nil)
                #expect(refused.text.contains("\"result\":\"encryptionRequired\""))
                #expect(try client.isClosed() && server.tree == [])
                let nameless = try HTTPClient(server)
                nameless.send(bytes: "GET / HTTP/1.0\r\n\r\n")
                #expect(try nameless.answer().status == 400)
            }
        }

        /// A sign-in that may only send gets a page for that, without what is there.
        @Test func whoMayOnlySendGetsAPageForThat() async throws {
            let writer = try issue("writer", .writeOnly)
            try await serving { server in
                let client = try HTTPClient(server, isSecured: true)
                #expect(try client.ask(.put, "/secret", Self.bearer(writer), [1]).status == 201)
                let fields = Self.bearer(writer) + [("Accept", "text/html,*/*;q=0.8")]
                let page = try client.ask(.get, "/", fields)
                #expect(page.status == 200 && page.text.contains("data-rights=\"write\""))
                let table = try client.ask(.get, "/?table", fields)
                #expect(table.status == 200 && table.text.contains("<form method=\"post\" enctype"))
                #expect(!(page.text + table.text).contains("secret"))
                for path in ["/", "/?json", "/?find=s", "/?size"] {
                    #expect(try client.ask(.get, path, Self.bearer(writer)).status == 403, "\(path)")
                }
            }
        }

        @Test func withoutHTTPThereIsNone() async throws {
            try await serving(.off) { server in
                let client = try server.client()
                try client.secure(protocols: [])
                client.send(Array("GET / HTTP/1.1\r\nHost: s\r\n\r\n".utf8))
                let bytes = try client.bytes(16)
                #expect(!String(decoding: bytes, as: UTF8.self).contains("HTTP/1.1"))
            }
        }
    }
}

extension TestServer {
    /// Shows that the server still serves clients with its own protocol.
    fileprivate func checkServesToken(_ token: AccessSecret) throws {
        let client = try client()
        try client.secure()
        let hello = Frames.encoded(.hello(Hello(agent: "test", token: token.text)))
        guard try client.codes(to: hello + Frames.upload("still-serving", [1, 2, 3])) == [.committed] else {
            throw RawClient.Failure(description: "the server no longer serves")
        }
    }
}
