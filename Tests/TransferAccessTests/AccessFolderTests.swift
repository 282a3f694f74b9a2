import Glibc
import Testing
import TransferKeys
import TransferModel
import TransferSystem
import TransferTestSupport

@testable import TransferAccess

/// Faults of files, which lists in memory cannot have.
@Suite struct AccessFolderTests {
    private let server: ServerFolder

    init() throws {
        server = try ServerFolder()
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

    /// The list of keys cannot be written: the code is used up, and no client is admitted.
    @Test func aListThatCannotBeReadLetsNobodyIn() throws {
        let secret = try server.issue(.pairing)
        let code = try #require(try server.folder.tokens.get()[secret.id])
        mkdir(server.keysPath, 0o700)
        #expect(throws: AccessFault.self) { try server.folder.enrol(Sample.key, named: "den", with: code) }
        #expect(try server.folder.tokens.get().entries.isEmpty)
    }

    /// The shown key is stored for programs that make links.
    @Test func theShownKeyComesBack() throws {
        let folder = server.folder
        #expect(try folder.shownKey() == nil)
        for key in [KeyPair().key, KeyPair().key].map({ KeyFingerprint(of: $0) }) {
            try folder.keep(shownKey: key)
            #expect(try folder.shownKey() == key)
        }
    }
}
