import Testing
import TransferIO
import TransferKeys
import TransferTestSupport

@testable import TransferClient

/// Decides whether a server is the right one, from its key, the list of known servers, and the system's check of the
/// certificate.
@Suite struct ServerVerifierTests {
    private static let address = "files.example:5288"

    private let home: TemporaryDirectory
    private let known: KnownServers
    private let key: TLSKey
    private let other: TLSKey

    init() throws {
        home = try TemporaryDirectory()
        known = KnownServers(path: home.path("known_servers"))
        key = try #require(TLSContext.server(.ed25519(seed: [UInt8](repeating: 1, count: 32))).key)
        other = try #require(TLSContext.server(.ed25519(seed: [UInt8](repeating: 2, count: 32))).key)
    }

    // MARK: A key that the user gave

    @Test func theGivenKeyIsTheOnlyOne() throws {
        let verifier = try verifier { $0.key = fingerprint(key) }
        #expect(verifier.judge(key, Self.neverAsked))
        #expect(verifier.refusal == nil)
        #expect(!verifier.judge(other, Self.neverAsked))
        expectWrong(verifier, "shows the key \(fingerprint(other)), not \(fingerprint(key))")
    }

    /// The given key counts whatever the list contains and the system trusts.
    @Test func theGivenKeyGoesBeforeTheKnownOne() throws {
        try known.add(KnownServers.Entry(address: Self.address, fingerprint: fingerprint(other)))
        let verifier = try verifier { $0.key = fingerprint(key) }
        #expect(verifier.judge(key, Self.neverAsked))
        #expect(!verifier.judge(other) { nil })
        #expect(!verifier.hasNews)
    }

    @Test func theGivenKeyIsKeptWhereThatIsWanted() throws {
        try known.add(KnownServers.Entry(address: Self.address, fingerprint: fingerprint(other)))
        let verifier = try verifier {
            $0.key = fingerprint(key)
            $0.keepsKey = true
        }
        #expect(!verifier.judge(other, Self.neverAsked))
        #expect(!verifier.hasNews)
        #expect(verifier.judge(key, Self.neverAsked))
        #expect(verifier.hasNews)
        try verifier.keep()
        #expect(try known.fingerprint(of: Self.address) == fingerprint(key))
        #expect(!verifier.hasNews)
    }

    // MARK: A key that was announced

    /// Another key is refused whatever else confirms the server: a copied announcement leads to the server that copied
    /// it.
    @Test func whoShowsAnotherKeyThanAnnouncedIsRefused() throws {
        let new = try verifier { ($0.announced, $0.firstContact) = (fingerprint(key), .trust) }
        #expect(!new.judge(other) { .unknownIssuer })
        expectWrong(new, "announced \(fingerprint(key))")
        #expect(!new.judge(other) { nil })
        #expect(!new.hasNews)
        let given = try verifier { ($0.announced, $0.key) = (fingerprint(key), fingerprint(other)) }
        #expect(!given.judge(other, Self.neverAsked))
        try known.add(KnownServers.Entry(address: Self.address, fingerprint: fingerprint(other)))
        let listed = try verifier { $0.announced = fingerprint(key) }
        #expect(!listed.judge(other, Self.neverAsked))
        expectWrong(listed, "announced \(fingerprint(key))")
        #expect(!listed.judge(key, Self.neverAsked))
        expectWrong(listed, "HAS CHANGED")
    }

    /// The announcement of a key does not make the server trusted.
    @Test func anAnnouncedKeyIsNotTrustedForThat() throws {
        let verifier = try verifier { $0.announced = fingerprint(key) }
        #expect(!verifier.judge(key) { .unknownIssuer })
        guard case .unknown? = verifier.refusal else {
            Issue.record("not unknown")
            return
        }
        let trusting = try self.verifier { ($0.announced, $0.firstContact) = (fingerprint(key), .trust) }
        #expect(trusting.judge(key) { .unknownIssuer } && trusting.hasNews)
    }

    // MARK: A key that is known

    @Test func theKnownKeyIsTrustedWithoutAsking() throws {
        try known.add(KnownServers.Entry(address: Self.address, fingerprint: fingerprint(key)))
        let verifier = try verifier()
        #expect(verifier.judge(key, Self.neverAsked))
        #expect(verifier.refusal == nil && !verifier.hasNews)
    }

    /// A changed key is refused even if the user trusts any server at first contact, and if the system trusts the new
    /// key.
    @Test(arguments: [nil, .unknownIssuer] as [TLSProblem?]) func aChangedKeyIsRefused(_ problem: TLSProblem?) throws {
        try known.add(KnownServers.Entry(address: Self.address, fingerprint: fingerprint(key)))
        let verifier = try verifier { $0.firstContact = .trust }
        #expect(!verifier.judge(other) { problem })
        expectWrong(verifier, "HAS CHANGED")
        #expect(!verifier.hasNews)
        try verifier.keep()
        #expect(try known.fingerprint(of: Self.address) == fingerprint(key))
        // A refusal has no influence on the next decision.
        #expect(verifier.judge(key, Self.neverAsked) && verifier.refusal == nil)
    }

    @Test func theKeyOfAnotherAddressIsUnknown() throws {
        try known.add(KnownServers.Entry(address: "other.example:5288", fingerprint: fingerprint(key)))
        let verifier = try verifier()
        #expect(!verifier.judge(key) { .unknownIssuer })
        #expect(verifier.refusal == .unknown(UnknownServer(address: Self.address, fingerprint: fingerprint(key))))
    }

    @Test func aListThatCannotBeReadIsAFault() throws {
        let verifier = ServerVerifier(trust(KnownServers(path: home.path)), address: Self.address)
        #expect(throws: KnownServers.Fault.self) { try verifier.prepare() }
    }

    // MARK: First contact

    @Test func whomTheSystemTrustsIsTrustedAndNotKept() throws {
        let verifier = try verifier()
        #expect(verifier.judge(key) { nil })
        #expect(verifier.refusal == nil && !verifier.hasNews)
    }

    @Test func anUnknownServerIsRefused() throws {
        let unknown = UnknownServer(address: Self.address, fingerprint: fingerprint(key))
        for contact in [ServerTrust.FirstContact.refuse, .ask { _ in true }] {
            let verifier = try verifier { $0.firstContact = contact }
            #expect(!verifier.judge(key) { .unknownIssuer })
            #expect(verifier.refusal == .unknown(unknown) && !verifier.hasNews)
        }
    }

    /// A key is not stored before the server has proved that it owns the key.
    @Test func anUnknownServerIsTrustedWhereThatIsWanted() throws {
        let verifier = try verifier { $0.firstContact = .trust }
        #expect(verifier.judge(key) { .unknownIssuer })
        #expect(verifier.hasNews)
        #expect(try known.fingerprint(of: Self.address) == nil)
        // From now on another key is refused, even in the same run.
        #expect(!verifier.judge(other) { .unknownIssuer })
        expectWrong(verifier, "HAS CHANGED")
        try verifier.keep()
        #expect(try known.fingerprint(of: Self.address) == fingerprint(key))
    }

    /// A certificate with a fault besides its unknown issuer is refused even at first contact.
    @Test(arguments: [
        (TLSProblem.expired, "has expired"), (.notYetValid, "not valid yet"), (.wrongName, "for another name"),
        (.other("odd"), "odd"),
    ])
    func aWrongCertificateIsRefusedByAll(_ problem: TLSProblem, _ words: String) throws {
        let verifier = try verifier { $0.firstContact = .trust }
        #expect(!verifier.judge(key) { problem })
        expectWrong(verifier, words)
        #expect(!verifier.hasNews)
    }

    @Test func whoeverSomebodyAcceptsIsTrusted() throws {
        let verifier = try verifier()
        #expect(!verifier.judge(key) { .unknownIssuer })
        verifier.accept(fingerprint(key))
        #expect(verifier.judge(key, Self.neverAsked))
        #expect(!verifier.judge(other) { nil })
    }

    /// A server lists its key for its user's clients when it begins to listen, and a client may connect before that.
    @Test func whatWasListedMeanwhileIsKnown() throws {
        let verifier = try verifier()
        #expect(!verifier.judge(key) { .unknownIssuer } && !verifier.isListedByNow())
        try known.add(KnownServers.Entry(address: Self.address, fingerprint: fingerprint(key)))
        #expect(verifier.isListedByNow())
        #expect(verifier.judge(key, Self.neverAsked) && !verifier.hasNews)
    }

    /// The user is not asked about a server that was listed in the meantime; here no question is configured.
    @Test func noInquiryIsMadeAboutWhatWasListedMeanwhile() async throws {
        var configuration = ClientConfiguration()
        configuration.security = .tls(trust(known))
        let server = try #require(ServerAddress(Self.address))
        let security = ClientSecurity(trust(known), server, key: nil)
        let (loop, pool) = (try EventLoop(name: "test"), BlockingPool(name: "test", threads: 1))
        defer {
            loop.stop()
            pool.close()
        }
        let inquiry = TrustInquiry(configuration, security, on: loop, pool: pool)
        security.prepare()
        #expect(!security.verifier.judge(key) { .unknownIssuer })
        let unknown = UnknownServer(address: Self.address, fingerprint: fingerprint(key))
        #expect(await !inquiry.isTrusted(unknown))
        try known.add(KnownServers.Entry(address: Self.address, fingerprint: fingerprint(key)))
        #expect(await inquiry.isTrusted(unknown))
        #expect(security.verifier.judge(key, Self.neverAsked))
    }

    /// A list with another key for the server does not make it trusted.
    @Test func anotherKeyThatWasListedMeanwhileIsRefused() throws {
        let verifier = try verifier()
        #expect(!verifier.judge(key) { .unknownIssuer })
        try known.add(KnownServers.Entry(address: Self.address, fingerprint: fingerprint(other)))
        #expect(verifier.isListedByNow() && !verifier.judge(key) { .unknownIssuer })
        expectWrong(verifier, "HAS CHANGED")
    }

    // MARK: Support

    private func trust(_ known: KnownServers) -> ServerTrust {
        var trust = ServerTrust()
        trust.known = known
        return trust
    }

    private func verifier(_ change: (inout ServerTrust) -> Void = { _ in }) throws -> ServerVerifier {
        var trust = trust(known)
        change(&trust)
        let verifier = ServerVerifier(trust, address: Self.address)
        try verifier.prepare()
        return verifier
    }

    private func fingerprint(_ key: TLSKey) -> KeyFingerprint { KeyFingerprint(of: key.bytes) }

    private func expectWrong(
        _ verifier: ServerVerifier, _ words: String, sourceLocation: SourceLocation = #_sourceLocation
    ) {
        guard case .wrong(let sentence)? = verifier.refusal else {
            Issue.record("\(String(describing: verifier.refusal))", sourceLocation: sourceLocation)
            return
        }
        #expect(sentence.contains(words) && sentence.contains("Nothing was sent"), sourceLocation: sourceLocation)
    }

    /// A verifier that knows the key does not check the certificate.
    private static func neverAsked() -> TLSProblem? {
        Issue.record("the certificate was looked at")
        return nil
    }
}
