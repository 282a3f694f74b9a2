import Testing
import TransferKeys
import TransferModel
import TransferSystem
import TransferTestSupport

@testable import TransferAccess

/// Hashing a secret takes 70 ms.
@Suite(.overEachKindOfLists) struct AuthenticatorSecretsTests {
    private let server: ServerFolder

    init() throws {
        server = try ServerFolder()
    }

    @Test func aTokenComesInUntilItIsRevoked() throws {
        let token = try server.issue(.token) { $0.folder = Sample.path("camera") }
        let authenticator = Authenticator(server.lists)
        for _ in 0..<2 {
            let grant = try authenticator.decide(.remote(nil, token: token.text)).get().grant
            #expect(grant.source == .token(token.id) && grant.name == "camera")
            #expect(grant.options.folder?.string == "camera")
        }
        let grant = try authenticator.decide(.remote(nil, token: token.text)).get().grant
        _ = try server.lists.revoke { $0.id == token.id }
        #expect(throws: Refusal.self) { try authenticator.recheck(grant, at: Sample.now) }
        #expect(authenticator.refusal(.remote(nil, token: token.text)) == .authenticationFailed)
    }

    /// A token decides, even if the client also has an admitted key: otherwise its uploads would be stored elsewhere.
    @Test func aTokenIsMoreThanAKey() throws {
        let key = try server.admit("laptop")
        let token = try server.issue(.token)
        let authenticator = Authenticator(server.lists)
        #expect(try authenticator.decide(.remote(key, token: token.text)).get().grant.source == .token(token.id))
        #expect(authenticator.refusal(.remote(key, token: AccessSecret.random(.token).text)) == .authenticationFailed)
    }

    @Test func theSameIDWithAnotherSecretIsRefused() throws {
        let token = try server.issue(.token)
        let authenticator = Authenticator(server.lists)
        #expect(authenticator.refusal(.remote(nil, token: token.text)) == nil)
        let other = "transfer_\(token.id)_\(AccessSecret.random(.token).secret)"
        #expect(authenticator.refusal(.remote(nil, token: other)) == .authenticationFailed)
        let asPairing = "pair_\(token.id)_\(token.secret)"
        #expect(authenticator.refusal(.remote(Sample.key, token: asPairing)) == .authenticationFailed)
    }

    @Test func anExpiredTokenIsRefused() throws {
        let token = try server.issue(.token) { $0.expires = Sample.now.advanced(bySeconds: 5) }
        let authenticator = Authenticator(server.lists)
        #expect(authenticator.refusal(.remote(nil, token: token.text)) == nil)
        #expect(authenticator.refusal(.remote(nil, token: token.text), at: 5) == .authenticationFailed)
    }

    @Test func wrongAndUnknownOnesAreToldApartByNothing() throws {
        let token = try server.issue(.token)
        let wrong = "transfer_\(token.id)_\(AccessSecret.random(.token).secret)"
        let authenticator = Authenticator(server.lists)
        let texts = [wrong, AccessSecret.random(.token).text, "nonsense", ""]
        let refusals = texts.compactMap { text -> Refusal? in
            guard case .failure(let refusal) = authenticator.decide(.remote(nil, token: text)) else { return nil }
            return refusal
        }
        #expect(refusals.count == 4 && refusals.allSatisfy { $0 == refusals[0] })
    }

    @Test func failuresCloseTheAddressForSecretsAlone() throws {
        let key = try server.admit("laptop")
        let token = try server.issue(.token)
        let authenticator = Authenticator(server.lists)
        for _ in 0..<6 { #expect(authenticator.refusal(.remote(nil, token: "wrong")) == .authenticationFailed) }
        #expect(authenticator.refusal(.remote(nil, token: token.text)) == .busy)
        #expect(authenticator.refusal(.remote(key)) == nil)
        let elsewhere = Credentials(network: PeerNetwork(ipv4: 2), isLocal: false, token: token.text)
        #expect(authenticator.refusal(elsewhere) == nil)
        #expect(authenticator.refusal(.remote(nil, token: token.text), at: 1) == nil)
        #expect(authenticator.refusal(.remote(nil, token: "wrong"), at: 1) == .authenticationFailed)
        #expect(authenticator.refusal(.remote(nil, token: token.text), at: 1) == nil)
    }

    /// An unknown client, an expired token and a code without a key do not count as guesses.
    @Test func onlyWrongSecretsClose() throws {
        let token = try server.issue(.token)
        let expired = try server.issue(.token) { $0.expires = Sample.now.advanced(bySeconds: -1) }
        let code = try server.issue(.pairing)
        let authenticator = Authenticator(server.lists)
        for _ in 0..<10 {
            #expect(authenticator.refusal(.remote(KeyPair().key)) == .authenticationRequired)
            #expect(authenticator.refusal(.remote(nil)) == .authenticationRequired)
        }
        for _ in 0..<7 {
            #expect(authenticator.refusal(.remote(nil, token: expired.text)) == .authenticationFailed)
            #expect(authenticator.refusal(.remote(nil, token: code.text)) == .authenticationFailed)
        }
        #expect(authenticator.state.withLock { $0.limiter.count } == 0)
        #expect(authenticator.refusal(.remote(nil, token: token.text)) == nil)
    }

    /// Another client behind the same address guesses, or repeats a token that was revoked.
    @Test func aTokenThatWasFoundRightIsNotLockedOut() throws {
        let token = try server.issue(.token)
        let authenticator = Authenticator(server.lists)
        #expect(authenticator.refusal(.remote(nil, token: token.text)) == nil)
        for _ in 0..<6 { #expect(authenticator.refusal(.remote(nil, token: "wrong")) == .authenticationFailed) }
        #expect(authenticator.refusal(.remote(nil, token: token.text)) == nil)
        // The known token does not unlock the address for guesses.
        #expect(authenticator.refusal(.remote(nil, token: "wrong")) == .busy)
        _ = try server.lists.revoke { $0.id == token.id }
        #expect(authenticator.refusal(.remote(nil, token: token.text)) == .busy)
    }

    /// The ID of a code is not secret, and a client that had a code knows the form of others.
    @Test func theSecretOfAnotherCodeEnrolsNobody() throws {
        let (code, other) = (try server.issue(.pairing), try server.issue(.pairing))
        let authenticator = Authenticator(server.lists)
        let mixed = "pair_\(code.id)_\(other.secret)"
        for _ in 0..<6 {
            #expect(authenticator.refusal(.remote(Sample.key, token: mixed)) == .authenticationFailed)
        }
        #expect(authenticator.refusal(.remote(Sample.key, token: mixed)) == .busy)
        #expect(try server.lists.keys.get().entries.isEmpty)
        #expect(authenticator.refusal(.remote(Sample.key), at: 400) == .authenticationRequired)
        // Both codes are still valid.
        let codes = try server.lists.tokens.get().entries.map(\.id)
        #expect(codes.sorted() == [code.id, other.id].sorted())
        let elsewhere = Credentials(network: PeerNetwork(ipv4: 2), isLocal: false, key: Sample.key, token: code.text)
        #expect(authenticator.refusal(elsewhere) == nil)
        #expect(authenticator.refusal(.remote(KeyPair().key, token: other.text), at: 800) == nil)
    }

    /// A push opens its lanes at once, with a token that the server has not seen since it started.
    @Test func oneSecretOnManyConnectionsComesIn() throws {
        let token = try server.issue(.token)
        let authenticator = Authenticator(server.lists)
        let refusals = Locked<[ResultCode?]>([])
        let threads = (0..<16).map { _ in
            TestThread {
                let refusal = authenticator.refusal(.remote(nil, token: token.text))
                refusals.withLock { $0.append(refusal) }
            }
        }
        for thread in threads { thread.join() }
        #expect(refusals.withLock { $0 } == [ResultCode?](repeating: nil, count: 16))
    }

    @Test func notTooManyAreHashedAtOnce() throws {
        let (token, known) = (try server.issue(.token), try server.issue(.token))
        let authenticator = Authenticator(server.lists)
        #expect(authenticator.refusal(.remote(nil, token: known.text)) == nil)
        let busy = BusyQueue(authenticator.hashing)
        let refusal = #expect(throws: Refusal.self) {
            try authenticator.decide(.remote(nil, token: token.text)).get()
        }
        #expect(refusal?.code == .busy && refusal?.retryAfter != nil)
        // The answer to an unknown ID does not differ from that to a known one.
        #expect(authenticator.refusal(.remote(nil, token: AccessSecret.random(.token).text)) == .busy)
        // A secret that was found right is not hashed again.
        #expect(authenticator.refusal(.remote(nil, token: known.text)) == nil)
        busy.release()
        #expect(authenticator.refusal(.remote(nil, token: token.text)) == nil)
    }

    @Test func aPairingCodeEnrolsOneKey() throws {
        let code = try server.issue(.pairing) {
            ($0.folder, $0.expires) = (Sample.path("in"), Sample.now.advanced(bySeconds: AccessSecret.pairingSeconds))
        }
        let authenticator = Authenticator(server.lists)
        #expect(!authenticator.admitsAnybody(at: Sample.now))
        #expect(authenticator.refusal(.remote(nil, token: code.text)) == .authenticationFailed)
        let (first, second) = (KeyPair().key, KeyPair().key)
        let admission = try authenticator.decide(.remote(first, token: code.text)).get()
        #expect(admission.enrolled?.name == "laptop" && admission.grant.source == .key(first))
        #expect(admission.grant.options == Sample.options { $0.folder = Sample.path("in") })
        // The client repeats the command, and then connects without the link.
        #expect(try authenticator.decide(.remote(first, token: code.text)).get().enrolled == nil)
        #expect(authenticator.refusal(.remote(first)) == nil)
        #expect(authenticator.refusal(.remote(second, token: code.text)) == .authenticationFailed)
        #expect(authenticator.refusal(.remote(second)) == .authenticationRequired)
    }

    @Test func aPairingCodeExpires() throws {
        let code = try server.issue(.pairing) { $0.expires = Sample.now.advanced(bySeconds: 600) }
        let authenticator = Authenticator(server.lists)
        #expect(authenticator.refusal(.remote(Sample.key, token: code.text), at: 600) == .authenticationFailed)
        _ = try server.lists.issue(
            .token, name: "x", options: AccessOptions(), at: Sample.now.advanced(bySeconds: 601))
        let list = try server.lists.tokens.get()
        #expect(list.entries.map(\.kind) == [.token])
    }

    @Test func pairedClientsHaveDifferentNames() throws {
        let authenticator = Authenticator(server.lists)
        for _ in 0..<3 {
            let code = try server.issue(.pairing)
            #expect(authenticator.refusal(.remote(KeyPair().key, token: code.text)) == nil)
        }
        let code = try server.issue(.pairing)
        var odd = Credentials.remote(KeyPair().key, token: code.text)
        odd.hostName = "x\u{1B}[2J\n" + String(repeating: "y", count: 1000)
        #expect(authenticator.refusal(odd) == nil)
        let list = try server.lists.keys.get()
        #expect(list.entries.map(\.name) == ["laptop", "laptop 2", "laptop 3", "client"])
    }

    @Test func nothingSecretIsInTheFile() throws {
        let secrets = [try server.issue(.token), try server.issue(.pairing)]
        let list = try server.lists.tokens.get()
        let text = String(decoding: list.content, as: UTF8.self)
        for secret in secrets { #expect(text.contains(secret.id) && !text.contains(secret.secret)) }
    }
}
