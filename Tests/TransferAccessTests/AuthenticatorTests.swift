import Glibc
import Testing
import TransferKeys
import TransferModel
import TransferSystem
import TransferTestSupport

@testable import TransferAccess

@Suite struct AuthenticatorTests {
    private let server: ServerFolder

    init() throws {
        server = try ServerFolder()
    }

    @Test func nobodyComesInByDefault() throws {
        let authenticator = Authenticator(server.folder)
        for credentials in [Credentials.remote(nil), .remote(Sample.key), .local(nil), .local(Sample.key)] {
            let refusal = #expect(throws: Refusal.self) { try authenticator.decide(credentials).get() }
            #expect(refusal?.code == .authenticationRequired && refusal?.delay == .seconds(1))
        }
        #expect(!authenticator.admitsAnybody(at: Sample.now))
    }

    @Test func aListedKeyComesIn() throws {
        let key = try server.admit("laptop") { $0.folder = Sample.path("in") }
        let authenticator = Authenticator(server.folder)
        let grant = try authenticator.decide(.remote(key)).get().grant
        #expect(grant.source == .key(key) && grant.name == "laptop" && grant.options.folder?.string == "in")
        #expect(authenticator.refusal(.remote(KeyPair().key)) == .authenticationRequired)
        #expect(authenticator.admitsAnybody(at: Sample.now))
    }

    @Test func theRefusalSaysHowToLetItIn() throws {
        let refusal = #expect(throws: Refusal.self) {
            try Authenticator(server.folder).decide(.remote(Sample.key)).get()
        }
        #expect(refusal?.message.contains(AuthorizedKey(Sample.key, name: "NAME").line) ?? false)
    }

    @Test func aKeyThatIsRemovedIsRefusedAtTheNextUpload() throws {
        let key = try server.admit("laptop")
        let authenticator = Authenticator(server.folder)
        let grant = try authenticator.decide(.remote(key)).get().grant
        #expect(try authenticator.recheck(grant, at: Sample.now) == grant)
        _ = try server.folder.expel { $0.key == key }
        let refusal = #expect(throws: Refusal.self) { try authenticator.recheck(grant, at: Sample.now) }
        #expect(refusal?.code == .authenticationFailed)
    }

    @Test func changedBoundsCountAtTheNextUpload() throws {
        let key = try server.admit("laptop")
        let authenticator = Authenticator(server.folder)
        let grant = try authenticator.decide(.remote(key)).get().grant
        _ = try server.folder.expel { $0.key == key }
        try server.folder.admit(AuthorizedKey(key, name: "other", options: Sample.options { $0.quota = 5 }))
        let present = try authenticator.recheck(grant, at: Sample.now)
        #expect(present.options.quota == 5 && present.name == "other")
    }

    @Test func accessEnds() throws {
        let key = try server.admit("laptop") { $0.expires = Sample.now.advanced(bySeconds: 10) }
        let authenticator = Authenticator(server.folder)
        let grant = try authenticator.decide(.remote(key), at: 9).get().grant
        #expect(authenticator.refusal(.remote(key), at: 10) == .authenticationFailed)
        #expect(throws: Refusal.self) { try authenticator.recheck(grant, at: Sample.now.advanced(bySeconds: 10)) }
        #expect(!authenticator.admitsAnybody(at: Sample.now.advanced(bySeconds: 10)))
    }

    @Test func theOwnerComesInFromThisMachineOnly() throws {
        let authenticator = Authenticator(server.folder, owner: Sample.key)
        let grant = try authenticator.decide(.local(Sample.key)).get().grant
        #expect(grant.source == .owner(Sample.key) && grant.options == AccessOptions())
        #expect(try authenticator.recheck(grant, at: Sample.now) == grant)
        #expect(authenticator.refusal(.remote(Sample.key)) == .authenticationRequired)
        #expect(authenticator.refusal(.local(KeyPair().key)) == .authenticationRequired)
        // A line about it is more than being the owner.
        try server.folder.admit(
            AuthorizedKey(Sample.key, name: "me", options: Sample.options { $0.rights = .readOnly }))
        #expect(try authenticator.recheck(grant, at: Sample.now).options.rights == .readOnly)
        #expect(try authenticator.decide(.local(Sample.key)).get().grant.name == "me")
    }

    @Test func anOpenServerLetsEveryoneIn() throws {
        let key = try server.admit("laptop") { $0.folder = Sample.path("in") }
        let authenticator = Authenticator(server.folder, isOpen: true)
        let grant = try authenticator.decide(.remote(nil)).get().grant
        #expect(grant.source == .everyone)
        #expect(try authenticator.decide(.remote(KeyPair().key)).get().grant.source == .everyone)
        #expect(try authenticator.decide(.remote(key)).get().grant.source == .key(key))
        #expect(authenticator.refusal(.remote(nil, token: "wrong")) == .authenticationFailed)
        #expect(throws: Refusal.self) { try Authenticator(server.folder).recheck(grant, at: Sample.now) }
    }

    @Test(arguments: [0o660, 0o606, 0o622] as [UInt32]) func aListThatOthersCanWriteAdmitsNobody(_ mode: UInt32) throws
    {
        let key = try server.admit("laptop")
        chmod(server.keysPath, mode)
        let authenticator = Authenticator(server.folder)
        #expect(authenticator.refusal(.remote(key)) == .authenticationRequired)
        #expect(authenticator.takeFaults().count == 1 && authenticator.takeFaults().isEmpty)
        #expect(throws: AccessFault.self) { try server.folder.expel { $0.key == key } }
        chmod(server.keysPath, 0o600)
        #expect(authenticator.refusal(.remote(key)) == nil)
    }

    @Test func aListThatIsALinkOrTooLongAdmitsNobody() throws {
        let key = try server.admit("laptop")
        let authenticator = Authenticator(server.folder)
        #expect(authenticator.refusal(.remote(key)) == nil)
        rename(server.keysPath, server.directory.path("list"))
        symlink(server.directory.path("list"), server.keysPath)
        #expect(authenticator.refusal(.remote(key)) == .authenticationRequired)
        unlink(server.keysPath)
        let line = Array("\(AuthorizedKey(key, name: "laptop").line)\n".utf8)
        let long = line + Array(repeating: UInt8(ascii: "\n"), count: AuthorizedKeys.longest)
        _ = try OwnFile.write(long, to: server.keysPath, replaces: true)
        #expect(authenticator.refusal(.remote(key)) == .authenticationRequired)
        _ = try OwnFile.write(line, to: server.keysPath, replaces: true)
        #expect(authenticator.refusal(.remote(key)) == nil)
    }

    @Test func aBadLineIsLoggedOnceAndHarmsNobodyElse() throws {
        let key = try server.admit("laptop")
        let line = AuthorizedKey(key, name: "laptop").line
        _ = try OwnFile.write(Array("nonsense\n\(line)\n".utf8), to: server.keysPath, replaces: true)
        let authenticator = Authenticator(server.folder)
        for _ in 0..<3 { #expect(authenticator.refusal(.remote(key)) == nil) }
        let faults = authenticator.takeFaults()
        #expect(faults.count == 1 && faults[0].contains("Line 1"))
    }
}
