import Glibc
import Testing
import TransferKeys
import TransferModel

@testable import TransferAccess

/// Enrolling by a code, without anybody who decides about its secret.
@Suite struct AccessFolderEditingTests {
    private let server: ServerFolder

    init() throws {
        server = try ServerFolder()
    }

    private func keys() throws -> [AuthorizedKey] {
        try server.folder.list(AccessFolder.keysName, of: AuthorizedKey.self).entries
    }

    private func tokens() throws -> [AccessToken] {
        try server.folder.list(AccessFolder.tokensName, of: AccessToken.self).entries
    }

    private func code(_ change: (inout AccessOptions) -> Void = { _ in }) throws -> AccessToken {
        let secret = try server.issue(.pairing, change)
        return try #require(try tokens().first { $0.id == secret.id })
    }

    @Test func theCodeGoesAndTheKeyComes() throws {
        let end = Sample.now.advanced(bySeconds: AccessFolder.pairingSeconds)
        let code = try code { ($0.folder, $0.quota, $0.expires) = (Sample.path("in"), 7, end) }
        let other = try self.code()
        let entry = try #require(try server.folder.enrol(Sample.key, named: "den", with: code))
        #expect(entry.key == Sample.key && entry.name == "den")
        #expect(entry.options == Sample.options { ($0.folder, $0.quota) = (Sample.path("in"), 7) })
        #expect(try keys().map(\.line) == [entry.line] && tokens() == [other])
    }

    /// For the programs that make links.
    @Test func theShownKeyComesBack() throws {
        let folder = server.folder
        #expect(try folder.shownKey() == nil)
        for key in [KeyPair().key, KeyPair().key].map({ KeyFingerprint(of: $0) }) {
            try folder.keep(shownKey: key)
            #expect(try folder.shownKey() == key)
        }
    }

    @Test func aCodeThatIsUsedEnrolsNobody() throws {
        let code = try code()
        _ = try server.folder.enrol(Sample.key, named: "den", with: code)
        #expect(try server.folder.enrol(KeyPair().key, named: "second", with: code) == nil)
        #expect(try keys().map(\.name) == ["den"])
    }

    /// Somebody has changed its line: its bounds may be others by now.
    @Test func aCodeThatWasReplacedEnrolsNobody() throws {
        let code = try code()
        let line = try #require(try tokens().first).line
        let text = "folder=\"a\" \(line)\n"
        #expect(Sample.write(text, to: server.tokensPath))
        #expect(try server.folder.enrol(Sample.key, named: "den", with: code) == nil)
        #expect(try keys().isEmpty && tokens().count == 1)
    }

    @Test func noTwoClientsHaveOneName() throws {
        _ = try server.admit("den")
        // A token is a client, too.
        _ = try server.folder.issue(.token, name: "den 2", options: AccessOptions(), at: Sample.now)
        let entry = try server.folder.enrol(Sample.key, named: "den", with: try code())
        #expect(entry?.name == "den 3")
        // Nobody is taken for one who has no line.
        let posing = try server.folder.enrol(KeyPair().key, named: Grant.ownersName, with: try code())
        #expect(posing?.name == "\(Grant.ownersName) 2")
    }

    /// Whoever chooses a name himself gets none that somebody had who is in no list any more.
    @Test func aReservedNameIsNobodysToChoose() throws {
        let reserved = [PathKey("bob"), PathKey("bob 2")]
        let entry = try server.folder.enrol(Sample.key, named: "bob", with: try code()) {
            reserved.contains(PathKey($0))
        }
        #expect(entry?.name == "bob 3")
    }

    /// What the old line allowed is over.
    @Test func aKeyThatWasThereGetsTheBoundsOfTheCode() throws {
        let key = try server.admit("old") { $0.expires = Sample.now }
        let entry = try server.folder.enrol(key, named: "new", with: try code { $0.rights = .writeOnly })
        #expect(try keys() == [try #require(entry)] && entry?.name == "new" && entry?.options.rights == .writeOnly)
    }

    /// The list of keys cannot be written: the code is lost, and nobody is let in.
    @Test func aListThatCannotBeReadLetsNobodyIn() throws {
        let code = try code()
        mkdir(server.keysPath, 0o700)
        #expect(throws: AccessFault.self) { try server.folder.enrol(Sample.key, named: "den", with: code) }
        #expect(try tokens().isEmpty)
    }
}
