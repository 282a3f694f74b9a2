import Testing
import TransferKeys
import TransferModel

@testable import TransferAccess

@Suite(.overEachKindOfLists) struct AuthenticatorTests {
    private let server: ServerFolder

    init() throws {
        server = try ServerFolder()
    }

    @Test func nobodyComesInByDefault() throws {
        let authenticator = Authenticator(server.lists)
        for credentials in [Credentials.remote(nil), .remote(Sample.key), .local(nil), .local(Sample.key)] {
            let refusal = #expect(throws: Refusal.self) { try authenticator.decide(credentials).get() }
            #expect(refusal?.code == .authenticationRequired && refusal?.delay == .seconds(1))
        }
        #expect(!authenticator.admitsAnybody(at: Sample.now))
    }

    @Test func aListedKeyComesIn() throws {
        let key = try server.admit("laptop") { $0.folder = Sample.path("in") }
        let authenticator = Authenticator(server.lists)
        let grant = try authenticator.decide(.remote(key)).get().grant
        #expect(grant.source == .key(key) && grant.name == "laptop" && grant.options.folder?.string == "in")
        #expect(authenticator.refusal(.remote(KeyPair().key)) == .authenticationRequired)
        #expect(authenticator.admitsAnybody(at: Sample.now))
    }

    @Test func theRefusalSaysHowToLetItIn() throws {
        let refusal = #expect(throws: Refusal.self) {
            try Authenticator(server.lists).decide(.remote(Sample.key)).get()
        }
        #expect(refusal?.message.contains(AuthorizedKey(Sample.key, name: "NAME").line) ?? false)
    }

    @Test func aKeyThatIsRemovedIsRefusedAtTheNextUpload() throws {
        let key = try server.admit("laptop")
        let authenticator = Authenticator(server.lists)
        let grant = try authenticator.decide(.remote(key)).get().grant
        #expect(try authenticator.recheck(grant, at: Sample.now) == grant)
        _ = try server.lists.expel { $0.key == key }
        let refusal = #expect(throws: Refusal.self) { try authenticator.recheck(grant, at: Sample.now) }
        #expect(refusal?.code == .authenticationFailed)
    }

    @Test func changedBoundsCountAtTheNextUpload() throws {
        let key = try server.admit("laptop")
        let authenticator = Authenticator(server.lists)
        let grant = try authenticator.decide(.remote(key)).get().grant
        _ = try server.lists.expel { $0.key == key }
        try server.lists.admit(AuthorizedKey(key, name: "other", options: Sample.options { $0.quota = 5 }))
        let present = try authenticator.recheck(grant, at: Sample.now)
        #expect(present.options.quota == 5 && present.name == "other")
    }

    @Test func accessEnds() throws {
        let key = try server.admit("laptop") { $0.expires = Sample.now.advanced(bySeconds: 10) }
        let authenticator = Authenticator(server.lists)
        let grant = try authenticator.decide(.remote(key), at: 9).get().grant
        #expect(authenticator.refusal(.remote(key), at: 10) == .authenticationFailed)
        #expect(throws: Refusal.self) { try authenticator.recheck(grant, at: Sample.now.advanced(bySeconds: 10)) }
        #expect(!authenticator.admitsAnybody(at: Sample.now.advanced(bySeconds: 10)))
    }

    @Test func theOwnerComesInFromThisMachineOnly() throws {
        let authenticator = Authenticator(server.lists, owner: Sample.key)
        let grant = try authenticator.decide(.local(Sample.key)).get().grant
        #expect(grant.source == .owner(Sample.key) && grant.options == AccessOptions())
        #expect(try authenticator.recheck(grant, at: Sample.now) == grant)
        #expect(authenticator.refusal(.remote(Sample.key)) == .authenticationRequired)
        #expect(authenticator.refusal(.local(KeyPair().key)) == .authenticationRequired)
        // A line in the list takes precedence over being the owner.
        try server.lists.admit(
            AuthorizedKey(Sample.key, name: "me", options: Sample.options { $0.rights = .readOnly }))
        #expect(try authenticator.recheck(grant, at: Sample.now).options.rights == .readOnly)
        #expect(try authenticator.decide(.local(Sample.key)).get().grant.name == "me")
    }

    @Test func anOpenServerLetsEveryoneIn() throws {
        let key = try server.admit("laptop") { $0.folder = Sample.path("in") }
        let authenticator = Authenticator(server.lists, isOpen: true)
        let grant = try authenticator.decide(.remote(nil)).get().grant
        #expect(grant.source == .everyone)
        #expect(try authenticator.decide(.remote(KeyPair().key)).get().grant.source == .everyone)
        #expect(try authenticator.decide(.remote(key)).get().grant.source == .key(key))
        #expect(authenticator.refusal(.remote(nil, token: "wrong")) == .authenticationFailed)
        #expect(throws: Refusal.self) { try Authenticator(server.lists).recheck(grant, at: Sample.now) }
    }
}
