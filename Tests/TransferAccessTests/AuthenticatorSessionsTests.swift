import Testing
import TransferModel
import TransferSystem

@testable import TransferAccess

/// Hashing a secret takes 70 ms.
@Suite(.overEachKindOfLists) struct AuthenticatorSessionsTests {
    private static let browser = Credentials(network: PeerNetwork(ipv4: 1), isLocal: false)

    private let server: ServerFolder

    init() throws {
        server = try ServerFolder()
    }

    private func link(_ name: String = "ann", session seconds: Int64 = 3600) throws -> AccessSecret {
        let options = Sample.options {
            ($0.folder, $0.rights) = (Sample.path("in"), .noRemove)
            $0.expires = Sample.now.advanced(bySeconds: AccessSecret.pairingSeconds)
        }
        return try server.lists.issueLink(
            name: name, options: options, sessionEnds: Sample.now.advanced(bySeconds: seconds), at: Sample.now)
    }

    private var entries: [AccessToken] {
        get throws { try server.lists.tokens.get().entries }
    }

    @Test func aLinkBeginsOneSession() throws {
        let (link, authenticator) = (try link(), Authenticator(server.lists))
        for _ in 0..<2 {
            #expect(try authenticator.link(link.text, Self.browser, at: Sample.now, Sample.time).name == "ann")
        }
        let (secret, session) = try authenticator.beginSession(link.text, Self.browser, at: Sample.now, Sample.time)
        #expect(session.made == Sample.now && session.id == secret.id && secret.kind == .session)
        let end = Sample.now.advanced(bySeconds: 3600)
        #expect(session.options.expires == end && session.options.rights == .noRemove)
        #expect(try entries == [session])
        #expect(throws: Refusal.wrongLink) {
            try authenticator.link(link.text, Self.browser, at: Sample.now, Sample.time)
        }
        #expect(throws: Refusal.wrongLink) {
            try authenticator.beginSession(link.text, Self.browser, at: Sample.now, Sample.time)
        }
        // The session also counts for a server that has just started.
        for authenticator in [authenticator, Authenticator(server.lists)] {
            let grant = try authenticator.decide(.session(secret.text)).get().grant
            #expect(grant.source == .token(secret.id) && grant.options.folder?.string == "in")
            #expect(try authenticator.recheck(grant, at: Sample.now) == grant)
            #expect(authenticator.refusal(.session(secret.text), at: 3600) == .authenticationFailed)
            #expect(throws: Refusal.self) { try authenticator.recheck(grant, at: end) }
        }
    }

    /// The server is killed before it has answered: the link is used up, and no browser has the session.
    @Test func aLinkIsUsedUpBeforeAnybodyHearsOfIt() throws {
        let link = try link()
        let entry = try #require(try entries.first)
        let secret = AccessSecret.random(.session)
        let hash = try #require(SecretHash(hashing: secret))
        #expect(try server.lists.beginSession(secret, hash, with: entry, at: Sample.now) != nil)
        let next = Authenticator(server.lists)
        #expect(throws: Refusal.wrongLink) {
            try next.beginSession(link.text, Self.browser, at: Sample.now, Sample.time)
        }
        #expect(try server.lists.beginSession(secret, hash, with: entry, at: Sample.now) == nil)
        #expect(try entries.map(\.kind) == [.session])
    }

    @Test func linksExpire() throws {
        let (link, short) = (try link(), try self.link(session: 5))
        let authenticator = Authenticator(server.lists)
        let late = Sample.now.advanced(bySeconds: AccessSecret.pairingSeconds)
        #expect(throws: Refusal.wrongLink) { try authenticator.link(link.text, Self.browser, at: late, Sample.time) }
        // A link also expires with the session that it would begin.
        let end = Sample.now.advanced(bySeconds: 5)
        #expect(throws: Refusal.wrongLink) { try authenticator.link(short.text, Self.browser, at: end, Sample.time) }
        #expect(authenticator.state.withLock { $0.limiter.count } == 0)
    }

    @Test func whatHasExpiredIsClearedAway() throws {
        let authenticator = Authenticator(server.lists)
        let first = try link(session: 60)
        _ = try authenticator.beginSession(first.text, Self.browser, at: Sample.now, Sample.time)
        let token = try server.issue(.token) { $0.expires = Sample.now.advanced(bySeconds: 1) }
        _ = try server.lists.issueLink(
            name: "bob", options: AccessOptions(), sessionEnds: Sample.now.advanced(bySeconds: 90),
            at: Sample.now.advanced(bySeconds: 60))
        // Only the operator removes tokens.
        #expect(try entries.map(\.kind) == [.token, .web] && entries.first?.id == token.id)
    }

    @Test func eachSecretIsGoodForOneThing() throws {
        let authenticator = Authenticator(server.lists)
        let (link, other) = (try link(), try self.link())
        let session = try authenticator.beginSession(other.text, Self.browser, at: Sample.now, Sample.time).secret
        let token = try server.issue(.token)
        for secret in [link, session] {
            let refusal = authenticator.refusal(.remote(nil, token: secret.text))
            #expect(refusal == .authenticationFailed, "\(secret)")
        }
        for secret in [link, token] { #expect(authenticator.refusal(.session(secret.text)) == .authenticationFailed) }
        let mixed = "web_\(link.id)_\(token.secret)"
        #expect(throws: Refusal.wrongLink) {
            try authenticator.link(mixed, .init(network: nil, isLocal: true), at: Sample.now, Sample.time)
        }
        // A token takes precedence over a session.
        var both = Credentials.remote(nil, token: token.text)
        both.session = session.text
        let elsewhere = Authenticator(server.lists)
        #expect(try elsewhere.decide(both).get().grant.source == .token(token.id))
        #expect(elsewhere.refusal(.session(session.text)) == nil)
    }

    @Test func wrongOnesAreCounted() throws {
        let (link, authenticator) = (try link(), Authenticator(server.lists))
        for _ in 0..<6 {
            #expect(throws: Refusal.wrongLink) {
                try authenticator.link(AccessSecret.random(.web).text, Self.browser, at: Sample.now, Sample.time)
            }
        }
        let refusal = #expect(throws: Refusal.self) {
            try authenticator.link(link.text, Self.browser, at: Sample.now, Sample.time)
        }
        #expect(refusal?.code == .busy && refusal?.retryAfter != nil)
    }

    @Test func sessionsHaveNamesOfTheirOwn() throws {
        let authenticator = Authenticator(server.lists)
        let names = try (0..<3).map { _ in
            try authenticator.beginSession(try link().text, Self.browser, at: Sample.now, Sample.time).session.name
        }
        #expect(names == ["ann", "ann 2", "ann 3"])
        // Each session has its own name, and gets no mail.
        #expect(authenticator.hasLine(for: "ann 2") && authenticator.person("ann", at: Sample.now) == nil)
    }

    @Test func aSessionEndsOnce() throws {
        let authenticator = Authenticator(server.lists)
        let secret = try authenticator.beginSession(try link().text, Self.browser, at: Sample.now, Sample.time).secret
        let grant = try authenticator.decide(.session(secret.text)).get().grant
        #expect(try authenticator.endSession(secret.id) && !authenticator.endSession(secret.id))
        #expect(throws: Refusal.self) { try authenticator.recheck(grant, at: Sample.now) }
        #expect(authenticator.refusal(.session(secret.text)) == .authenticationFailed)
    }

    @Test(arguments: [
        "web 00000000 HASH ann", "session 00000000 HASH yesterday ann", "session 00000000 HASH 2026-12-01",
    ])
    func linesThatCannotBe(_ line: String) throws {
        let hash = SecretHash(of: .random(.web)).description
        let list = AccessTokens(Array(line.replacing("HASH", with: hash).utf8))
        #expect(list.entries.isEmpty && list.faults.count == 1)
    }
}

extension Credentials {
    fileprivate static func session(_ text: String) -> Credentials {
        var credentials = Credentials(network: PeerNetwork(ipv4: 1), isLocal: false)
        credentials.session = text
        return credentials
    }
}
