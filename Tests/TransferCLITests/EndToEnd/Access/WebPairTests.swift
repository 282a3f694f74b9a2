import Glibc
import Testing
import TransferAccess
import TransferModel
import TransferTestSupport

/// Links for browsers, and the sessions that they begin.
@Suite(.ownThreads) struct WebPairTests {
    private let home: TemporaryDirectory

    private var directory: String { home.path("in") }
    private var folder: AccessFolder { AccessFolder(of: directory) }

    init() throws {
        home = try TemporaryDirectory()
        mkdir(home.path("in"), 0o755)
        mkdir(home.path("in/.transfer"), 0o700)
    }

    private func run(_ arguments: [String]) throws -> Finished {
        try Finished(["access"] + arguments + ["--dir", directory])
    }

    /// Begins a session as a server does when the user presses the button in the browser.
    private func begin(_ link: String) throws -> AccessToken {
        let secret = try #require(link.split(separator: "/").last)
        let browser = Credentials(network: nil, isLocal: false)
        return try Authenticator(folder).beginSession(
            String(secret.prefix { $0 != "\n" }), browser, at: .now, MonotonicTime(nanoseconds: 1)
        ).session
    }

    @Test func aLinkIsMadeForABrowser() throws {
        let pair = try run(["pair", "--web", "--advertise", "192.0.2.1:99", "--folder", "a"])
        #expect(pair.end == .exited(0), "\(pair.errors)")
        #expect(pair.output.hasPrefix("https://192.0.2.1:99/.transfer/in/web_") && pair.output.hasSuffix("\n"))
        #expect(pair.errors.contains("as 'browser', push, list and fetch, but not remove"), "\(pair.errors)")
        #expect(pair.errors.contains("below the folder 'a'") && !pair.errors.contains("web_"))
        let list = try run(["token", "list"]).output
        #expect(list.contains("link for a browser  browser  folder=\"a\",no-remove,expires="), "\(list)")
        #expect(try run(["list"]).output.isEmpty)
    }

    @Test(arguments: [
        ("https://files.example.org", "https://files.example.org/"), ("https://[::1]:8443/", "https://[::1]:8443/"),
        ("http://localhost:8080", "http://localhost:8080/"),
    ])
    func aProxyStandsInFront(_ url: String, _ beginning: String) throws {
        let pair = try run(["pair", "--web", "--url", url])
        #expect(pair.output.hasPrefix("\(beginning).transfer/in/web_"), "\(pair.output)")
        // With `--url`, the command need not ask a running server for its address.
        #expect(!pair.errors.contains("No server is running"))
    }

    @Test func aSessionIsListedAndRemoved() throws {
        let links = try (0..<2).map { _ in
            try run(["pair", "--web", "--url", "https://a", "--name", "ann", "--expires", "12h", "--read-only"]).output
        }
        let sessions = try links.map { try begin($0) }
        #expect(try run(["token", "list"]).output.isEmpty)
        let list = try run(["list"])
        let made = try #require(sessions.first?.made)
        #expect(list.lines.count == 2 && list.output.contains("ann    session \(sessions[0].id)  read-only,expires="))
        #expect(list.output.contains(", made \(made)\n") && list.output.contains("ann 2  session \(sessions[1].id)"))
        let json = try run(["list", "--json"])
        #expect(json.lines.count == 2 && json.output.contains("\"created\":\"\(made)\",\"sessionExpires\":null"))
        #expect(try run(["remove", "ann 2"]).errors.contains("The session 'ann 2' (\(sessions[1].id)) has ended."))
        #expect(try run(["remove", sessions[0].id]).end == .exited(0))
        #expect(try run(["remove", "ann"]).end == .exited(1))
        #expect(try run(["list"]).output.isEmpty)
    }

    /// A key may have the name of a session, too.
    @Test func twoOfOneNameAreToldApart() throws {
        let key = "ed25519 11qYAYKxCrfVS/7TyWQHOg7hcvPapiMlrwIaaPcHURo= ann"
        #expect(try run(["add", key]).end == .exited(0))
        let session = try begin(try run(["pair", "--web", "--url", "https://a", "--name", "ann"]).output)
        let refused = try run(["remove", "ann"])
        #expect(refused.end == .exited(1) && refused.errors.contains("SHA256:"), "\(refused.errors)")
        #expect(refused.errors.contains(session.id))
        #expect(try run(["remove", session.id]).end == .exited(0))
        #expect(try run(["remove", "ann"]).end == .exited(0))
    }

    @Test func programsReadIt() throws {
        let pair = try run(["pair", "--web", "--url", "https://a", "--expires", "2999-01-01", "--json"])
        #expect(pair.lines.count == 1 && pair.errors.isEmpty)
        #expect(
            pair.output.contains(#""kind":"web""#) && pair.output.contains(#""secret":"https://a/.transfer/in/web_"#))
        #expect(pair.output.contains(#""created":null,"sessionExpires":"2999-01-01T00:00:00Z""#), "\(pair.output)")
    }

    @Test(arguments: [
        ["--name", "ann"], ["--url", "https://a"], ["--expires", "1d"], ["--web", "--url", "a"],
        ["--web", "--url", "https://a/b"], ["--web", "--url", "https://u:p@a"], ["--web", "--url", "https://a?b"],
        ["--web", "--url", "ftp://a"], ["--web", "--name", "a\u{1B}b"], ["--web", "--expires", "2020-01-01"],
        ["--web", "--read-only", "--write-only"],
    ]) func whatCannotBe(_ flags: [String]) throws {
        let pair = try run(["pair"] + flags)
        #expect(pair.end == .exited(2) && pair.output.isEmpty, "\(pair.errors)")
        #expect(names(in: home.path("in/.transfer")).isEmpty)
    }
}
