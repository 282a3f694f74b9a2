import Testing
import TransferAccess
import TransferHTTP
import TransferIO
import TransferModel
import TransferTestSupport

@testable import TransferServer

extension ServerTests {
    /// Browsers sign in by links.
    @Suite(.overEachStoreIfAsked) struct HTTPSignInTests {
        private let place: BrowserFolder

        init() throws { place = try BrowserFolder() }

        @Test func aLinkWorksOnce() async throws {
            let (place, link) = (place, try place.link())
            try await place.serving { server in
                let client = try HTTPClient(server, isSecured: true)
                // Viewing the link, as previews do, does not use it up.
                #expect(try client.ask(.head, link).status == 200)
                let page = try client.ask(.get, link)
                #expect(page.status == 200 && page["content-type"] == "text/html; charset=utf-8")
                #expect(page.text.contains("<form method=\"post\"") && page.text.contains("ann &lt;b&gt;"))
                #expect(page["cache-control"] == "no-store" && page["set-cookie"] == nil)
                #expect(page["content-security-policy"] == HTTPAnswers.noActiveContent)
                let chinese = try client.ask(.get, link, [("Accept-Language", "zh-CN,en;q=0.5")])
                #expect(chinese.text.contains("lang=\"zh\"") && chinese.text.contains("登录"))
                #expect(try place.sessions.isEmpty)
                let form = [BrowserFolder.own, ("Content-Type", "application/x-www-form-urlencoded")]
                let begun = try client.ask(.post, link, form, [])
                #expect(begun.status == 303 && begun["location"] == "/" && begun["cache-control"] == "no-store")
                let cookie = try #require(begun["set-cookie"])
                #expect(cookie.hasPrefix("__Host-transfer=session_"), "\(cookie)")
                #expect(cookie.contains("; Path=/; Secure; HttpOnly; SameSite=Strict; Max-Age=3"), "\(cookie)")
                #expect(try place.sessions.map(\.name) == ["ann <b>"])
                let pair = ("Cookie", String(cookie.prefix { $0 != ";" }))
                #expect(try client.ask(.get, "/", [pair]).status == 200)
                for method in [HTTPMethod.get, .post] {
                    let again = try client.ask(method, link, [BrowserFolder.own], method == .post ? [] : nil)
                    #expect(again.status == 404 && again.text.contains("does not work"), "\(again.text)")
                    #expect(again["set-cookie"] == nil)
                }
                #expect(try place.sessions.count == 1)
            }
        }

        /// A link that arrives without encryption is not used up.
        @Test func aLinkNeedsEncryption() async throws {
            let (place, link) = (place, try place.link())
            try await place.serving { server in
                let plain = try HTTPClient(server).ask(.post, link, [("Origin", "http://server")], [])
                #expect(plain.status == 400 && plain["set-cookie"] == nil)
                #expect(try HTTPClient(server).ask(.get, link)["location"] == "https://server\(link)")
                let client = try HTTPClient(server, isSecured: true)
                #expect(try client.ask(.post, link, [BrowserFolder.own], []).status == 303)
            }
        }

        /// All browsers use the link at the same moment.
        @Test func oneOfManyBrowsersIsLetIn() async throws {
            let (place, link) = (place, try place.link())
            try await place.serving { server in
                let clients = try (0..<5).map { _ in try HTTPClient(server, isSecured: true) }
                for client in clients { client.send(.post, link, [BrowserFolder.own], []) }
                let answers = try clients.map { try $0.answer().status }
                // The number of secrets checked together is limited, so some browsers may be refused, but at most one
                // is signed in.
                #expect(answers.filter { $0 == 303 }.count <= 1)
                #expect(answers.allSatisfy { [303, 404, 503].contains($0) }, "\(answers)")
                let last = try HTTPClient(server, isSecured: true).ask(.post, link, [BrowserFolder.own], [])
                #expect((last.status == 303) != answers.contains(303), "\(answers) \(last.status)")
                #expect(try place.sessions.count == 1)
            }
        }

        @Test func whoTriesLinksHasToWait() async throws {
            try await place.serving { server in
                let client = try HTTPClient(server, isSecured: true)
                var answer = try client.ask(.get, "/.transfer/in/nonsense")
                for _ in 0..<12 where answer.status == 404 {
                    answer = try client.ask(.get, "/.transfer/in/\(AccessSecret.random(.web).text)")
                }
                #expect(answer.status == 503 && answer["retry-after"] != nil && answer.text.contains("Not now"))
            }
        }

        /// A form on a page of another site cannot sign a browser in. Such a page could otherwise sign its visitors in
        /// under a name that the page's author controls.
        @Test func pagesOfOthersSignNobodyIn() async throws {
            let (place, link) = (place, try place.link())
            try await place.serving { server in
                let client = try HTTPClient(server, isSecured: true)
                let marks: [[(String, String)]] = [
                    [], [("Origin", "https://evil.example")], [("Origin", "null")], [("Origin", "http://server")],
                    [("Sec-Fetch-Site", "cross-site")], [("Sec-Fetch-Site", "same-site")],
                    [("Origin", "https://evil.example"), ("Sec-Fetch-Site", "same-origin")],
                ]
                for mark in marks {
                    let answer = try client.ask(.post, link, mark, [])
                    #expect(answer.status == 403 && answer["set-cookie"] == nil, "\(mark)")
                }
                #expect(try client.ask(.put, link, [BrowserFolder.own], [1]).status == 405)
                #expect(try place.sessions.isEmpty && server.tree == [])
                #expect(try client.ask(.post, link, [("Sec-Fetch-Site", "same-origin")], []).status == 303)
            }
        }

        /// With a stricter policy for referrers, browsers would not say which site a form is on.
        @Test func aFormSaysWhoseItIs() async throws {
            let (place, link) = (place, try place.link())
            try await place.serving { server in
                let client = try HTTPClient(server, isSecured: true)
                #expect(try client.ask(.get, link)["referrer-policy"] == "same-origin")
                #expect(try client.ask(.get, "/", try place.session(client))["referrer-policy"] == "same-origin")
            }
        }

        /// Browsers reach the server through a proxy, and directly.
        @Test(arguments: ["https", "http", nil]) func theCookieGoesByTheClientsSide(_ scheme: String?) async throws {
            let (place, link) = (place, try place.link())
            let change = { @Sendable (configuration: inout ServerConfiguration) in
                configuration.plainHTTP = [PlainHTTPListener(TestServer.anyPort)]
                configuration.trustedProxies = [.network(.ipv4Loopback, bits: 8)]
            }
            try await place.serving(change) { server in
                let endpoint = try #require(server.plainHTTPEndpoints.first)
                let client = HTTPClient(try RawClient(endpoint))
                let said = scheme.map { [("X-Forwarded-Proto", $0)] } ?? []
                let own = ("Origin", "\(scheme ?? "http")://server")
                let answer = try client.ask(.post, link, said + [own], [])
                let cookie = try #require(answer["set-cookie"], "\(answer.text)")
                let isSecure = scheme == "https"
                #expect(cookie.hasPrefix("__Host-transfer=") == isSecure && cookie.contains("; Secure") == isSecure)
                let pair = ("Cookie", String(cookie.prefix { $0 != ";" }))
                #expect(try client.ask(.put, "/x", said + [own, pair], [1]).status == 201)
                // A cookie with the other name is ignored.
                let other = isSecure ? pair.1.dropFirst(7) : "__Host-\(pair.1)"
                #expect(try client.ask(.get, "/x", said + [("Cookie", String(other))]).status == 401)
            }
        }

        /// On a server without authentication, no link is valid.
        @Test func withoutListsThereAreNoLinks() async throws {
            let (place, link) = (place, try place.link())
            try await place.serving({ $0.security = .plaintext }) { server in
                let client = try HTTPClient(server)
                #expect(try client.ask(.get, link).status == 404)
                #expect(try client.ask(.post, link, [("Origin", "http://server")], []).status == 404)
                #expect(try place.sessions.isEmpty)
            }
        }

        @Test func whoHasNothingToShowIsToldTheWayIn() async throws {
            try await place.serving { server in
                let client = try HTTPClient(server, isSecured: true)
                let browser = ("Accept", "text/html,application/xhtml+xml,*/*;q=0.8")
                let page = try client.ask(.get, "/", [browser])
                #expect(page.status == 401 && page.text.contains("transfer access pair --web"))
                #expect(page["content-type"] == "text/html; charset=utf-8" && page["cache-control"] == "no-store")
                #expect(page.head.fields.values("www-authenticate").count == 2)
                let chinese = try client.ask(.get, "/a/", [browser, ("Accept-Language", "zh")])
                #expect(chinese.text.contains("需要登录"))
                #expect(try client.ask(.head, "/", [browser]).content.isEmpty)
                #expect(try client.ask(.get, "/x", [browser]).text.contains("transfer access pair --web"))
                // Programs, and requests of scripts, get the usual answers.
                for answer in [try client.ask(.get, "/"), try client.ask(.get, "/x", [("Accept", "*/*")])] {
                    #expect(answer.status == 401 && answer.text.hasPrefix("{"))
                }
            }
        }
    }
}
