import Glibc
import Testing
import TransferAccess
import TransferHTTP
import TransferModel
import TransferSystem
import TransferTestSupport

@testable import TransferServer

extension ServerTests {
    /// Requests that a browser may make during its session.
    @Suite(.overEachStoreIfAsked) struct HTTPSessionTests {
        private let place: BrowserFolder

        init() throws { place = try BrowserFolder() }

        @Test func aSessionLetsIn() async throws {
            let place = place
            try await place.serving { server in
                let client = try HTTPClient(server, isSecured: true)
                let session = try place.session(client)
                #expect(try client.ask(.put, "/x", session, [1]).status == 201)
                let file = try client.ask(.get, "/x", session)
                #expect(file.content == [1])
                let list = try client.ask(.get, "/?table", session + [("Accept", "text/html")])
                #expect(list.text.contains("Signed in as ann &lt;b&gt;"))
                #expect(list.text.contains("<form method=\"post\" action=\"/.transfer/out\">"))
                let page = try client.ask(.get, "/", session + [("Accept", "text/html")])
                #expect(page.text.contains("data-name=\"ann &lt;b&gt;\"") && page.text.contains(" data-session "))
                for answer in [file, list, page] {
                    #expect(answer.head.fields.list("cache-control").contains("no-store"))
                    #expect(Set(["Cookie", "Authorization"]).isSubset(of: answer.head.fields.list("vary")))
                }
                // Credentials of one request do not count for the next one.
                #expect(try client.ask(.get, "/x").status == 401)
            }
        }

        @Test func rightsAreThoseOfTheLink() async throws {
            let place = place
            try await place.serving { server in
                let client = try HTTPClient(server, isSecured: true)
                let reader = try place.session(client, .readOnly)
                #expect(try client.ask(.put, "/x", reader, [1]).status == 403)
                let list = try client.ask(.get, "/?table", reader + [("Accept", "text/html")])
                #expect(list.status == 200 && !list.text.contains("multipart"))
                let top = try place.link(.readWrite, folder: "r")
                let cookie = try #require(try client.ask(.post, top, [BrowserFolder.own], [])["set-cookie"])
                let confined = [("Cookie", String(cookie.prefix { $0 != ";" })), BrowserFolder.own]
                #expect(try client.ask(.put, "/x", confined, [1])["location"] == "/x" && server.tree == ["r", "r/x"])
            }
        }

        @Test func itOutlivesTheServer() async throws {
            let place = place
            let kept = Locked<[(String, String)]>([])
            try await place.serving { server in
                let session = try place.session(HTTPClient(server, isSecured: true))
                kept.withLock { $0 = session }
            }
            try await place.serving { server in
                let session = kept.withLock { $0 }
                let client = try HTTPClient(server, isSecured: true)
                #expect(try client.ask(.put, "/x", session, [1]).status == 201)
            }
        }

        /// A browser sends the session's cookie with the requests of any page.
        @Test func pagesOfOthersMayNotUseIt() async throws {
            let place = place
            try await place.serving { server in
                let client = try HTTPClient(server, isSecured: true)
                let session = try place.session(client)
                #expect(try client.ask(.put, "/x", session, [1]).status == 201)
                let cookie = session[0]
                let foreign: [[(String, String)]] = [
                    [], [("Origin", "https://evil.example")], [("Origin", "null")],
                    [BrowserFolder.own, BrowserFolder.own], [("Sec-Fetch-Site", "same-site")],
                    [("Sec-Fetch-Site", "none")],
                ]
                for mark in foreign {
                    for method in [HTTPMethod.put, .delete, .post] {
                        let answer = try client.ask(method, "/x", [cookie] + mark, method == .delete ? nil : [2])
                        #expect(answer.status == 403, "\(method) \(mark)")
                    }
                }
                #expect(try client.ask(.put, "/x", [cookie, ("Sec-Fetch-Site", "same-origin")], [3]).status == 200)
                for site in ["cross-site", "same-site", "what"] {
                    let mark = ("Sec-Fetch-Site", site)
                    #expect(try client.ask(.get, "/x", [cookie, mark]).status == 403)
                    let part = [cookie, mark, ("Sec-Fetch-Mode", "navigate"), ("Sec-Fetch-Dest", "iframe")]
                    #expect(try client.ask(.get, "/x", part).status == 403)
                    let going = [cookie, mark, ("Sec-Fetch-Mode", "navigate"), ("Sec-Fetch-Dest", "document")]
                    #expect(try client.ask(.get, "/x", going).content == [3])
                }
                for site in ["same-origin", "none"] {
                    #expect(try client.ask(.get, "/x", [cookie, ("Sec-Fetch-Site", site)]).content == [3])
                }
                #expect(server.tree == ["x"])
            }
        }

        @Test func aTokenCountsBeforeIt() async throws {
            let place = place
            let token = try place.lists.issue(.token, name: "camera", options: AccessOptions(), at: .now)
            try await place.serving { server in
                let client = try HTTPClient(server, isSecured: true)
                let cookie = try place.session(client, .readOnly)[0]
                let bearer = ("Authorization", "Bearer \(token.text)")
                #expect(try client.ask(.put, "/x", [cookie, bearer], [1]).status == 201)
                let wrong = ("Authorization", "Bearer \(AccessSecret.random(.token).text)")
                let refused = try client.ask(.get, "/x", [cookie, wrong])
                #expect(refused.status == 401 && refused["set-cookie"] == nil)
            }
        }

        @Test func whatIsNoSession() async throws {
            let place = place
            let token = try place.lists.issue(.token, name: "camera", options: AccessOptions(), at: .now)
            try await place.serving { server in
                let client = try HTTPClient(server, isSecured: true)
                let cookie = try place.session(client)[0].1.dropFirst("other=1; ".utf8.count)
                let value = cookie.dropFirst("__Host-transfer=".utf8.count)
                let lines = [
                    "__Host-transfer=\(token.text)", "\(cookie); \(cookie)", "__Host-transfer=\"\(value)\"",
                    "transfer=\(value)", "__host-transfer=\(value)",
                ]
                for line in lines {
                    #expect(try client.ask(.get, "/", [("Cookie", line)]).status == 401, "\(line)")
                }
                let bearer = ("Authorization", "Bearer \(value)")
                #expect(try HTTPClient(server, isSecured: true).ask(.get, "/", [bearer]).status == 401)
            }
        }

        @Test func whoSignsOutIsOut() async throws {
            let place = place
            try await place.serving { server in
                let client = try HTTPClient(server, isSecured: true)
                let (session, other) = (try place.session(client), try place.session(client))
                #expect(try client.ask(.post, "/.transfer/out", [session[0]], []).status == 403)
                #expect(try client.ask(.get, "/.transfer/out", session).status == 405)
                let left = try client.ask(.post, "/.transfer/out", session, [])
                #expect(left.status == 200 && left.text.contains("Signed out"))
                #expect(left["clear-site-data"] == "\"cache\"")
                let cleared = try #require(left["set-cookie"])
                #expect(cleared.hasPrefix("__Host-transfer=; ") && cleared.hasSuffix("; Max-Age=0"), "\(cleared)")
                let page = try client.ask(.get, "/", session + [("Accept", "text/html")])
                #expect(page.status == 401 && page.text.contains("You have to sign in"))
                #expect(page["set-cookie"] == cleared)
                #expect(try client.ask(.get, "/", other).status == 200 && place.sessions.count == 1)
                #expect(try client.ask(.post, "/.transfer/out", [BrowserFolder.own], []).status == 401)
            }
        }

        /// A download is cut off when its session ends. Bytes that were not sent yet stay on the server.
        @Test(.directoryOnly) func aDownloadEndsWithItsSession() async throws {
            let place = place
            let size = 1 << 30
            #expect(creat(place.directory.path("store/long"), 0o644) >= 0)
            #expect(truncate(place.directory.path("store/long"), size) == 0)
            try await place.serving { server in
                let client = try HTTPClient(server, isSecured: true)
                let session = try place.session(client)
                client.send(.get, "/long", session)
                _ = try client.raw.some()
                _ = try place.lists.revoke { $0.kind == .session }
                // Reading all of the file would take longer than a tenth of a second.
                var count = 0
                while let bytes = try? client.raw.some() { count += bytes.count }
                #expect(count < size, "it went on")
                #expect(try HTTPClient(server, isSecured: true).ask(.get, "/", session).status == 401)
            }
        }

        @Test(.directoryOnly) func anExpiredOneIsRefused() async throws {
            let place = place
            try await place.serving { server in
                let client = try HTTPClient(server, isSecured: true)
                let session = try place.session(client)
                let path = AccessFolder(of: place.directory.path("store")).path(AccessFolder.tokensName)
                let list = String(
                    decoding: try #require(try OwnFile(reading: path, atMost: 1 << 20)).content, as: UTF8.self)
                let year = try #require(list.split(separator: "expires=").last?.prefix(4))
                let past = list.replacing("expires=\(year)", with: "expires=1999")
                _ = try OwnFile.write(Array(past.utf8), to: path, replaces: true)
                let refused = try client.ask(.get, "/", session)
                #expect(refused.status == 401 && refused["set-cookie"]?.hasSuffix("Max-Age=0") ?? false)
                // The expired session is removed at the next change of the list.
                _ = try place.link()
                #expect(try place.sessions.isEmpty)
            }
        }
    }
}
