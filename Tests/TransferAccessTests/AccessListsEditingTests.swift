import Testing
import TransferKeys
import TransferModel

@testable import TransferAccess

/// Enrolment with a code, without checking the code's secret.
@Suite(.overEachKindOfLists) struct AccessListsEditingTests {
    private let server: ServerFolder

    init() throws {
        server = try ServerFolder()
    }

    private func keys() throws -> [AuthorizedKey] {
        try server.lists.keys.get().entries
    }

    private func tokens() throws -> [AccessToken] {
        try server.lists.tokens.get().entries
    }

    private func code(_ change: (inout AccessOptions) -> Void = { _ in }) throws -> AccessToken {
        let secret = try server.issue(.pairing, change)
        return try #require(try tokens().first { $0.id == secret.id })
    }

    @Test func theCodeGoesAndTheKeyComes() throws {
        let end = Sample.now.advanced(bySeconds: AccessSecret.pairingSeconds)
        let code = try code { ($0.folder, $0.quota, $0.expires) = (Sample.path("in"), 7, end) }
        let other = try self.code()
        let entry = try #require(try server.lists.enrol(Sample.key, named: "den", with: code))
        #expect(entry.key == Sample.key && entry.name == "den")
        #expect(entry.options == Sample.options { ($0.folder, $0.quota) = (Sample.path("in"), 7) })
        #expect(try keys().map(\.line) == [entry.line] && tokens() == [other])
    }

    @Test func aCodeThatIsUsedEnrolsNobody() throws {
        let code = try code()
        _ = try server.lists.enrol(Sample.key, named: "den", with: code)
        #expect(try server.lists.enrol(KeyPair().key, named: "second", with: code) == nil)
        #expect(try keys().map(\.name) == ["den"])
    }

    /// The line of the code was replaced by one with other options, so the old code is no longer valid.
    @Test func aCodeThatWasReplacedEnrolsNobody() throws {
        let code = try code()
        let other = try AccessToken(AccessLine(Array("folder=\"a\" \(code.line)".utf8), kinds: AccessToken.kinds))
        try server.lists.edit { (editing) throws(AccessFault) in
            try editing.change { (tokens: inout AccessTokens) throws(AccessFault) in
                _ = tokens.remove { $0.id == code.id }
                try tokens.append(other)
            }
        }
        #expect(try server.lists.enrol(Sample.key, named: "den", with: code) == nil)
        #expect(try keys().isEmpty && tokens().count == 1)
    }

    @Test func noTwoClientsHaveOneName() throws {
        _ = try server.admit("den")
        // A token is a client as well.
        _ = try server.lists.issue(.token, name: "den 2", options: AccessOptions(), at: Sample.now)
        let entry = try server.lists.enrol(Sample.key, named: "den", with: try code())
        #expect(entry?.name == "den 3")
        // The owner needs no line, so a new client must not get the owner's name.
        let posing = try server.lists.enrol(KeyPair().key, named: Grant.ownersName, with: try code())
        #expect(posing?.name == "\(Grant.ownersName) 2")
    }

    /// A client that chooses its name cannot get the name of a client that was removed.
    @Test func aReservedNameIsNobodysToChoose() throws {
        let reserved = [PathKey("bob"), PathKey("bob 2")]
        let entry = try server.lists.enrol(Sample.key, named: "bob", with: try code()) {
            reserved.contains(PathKey($0))
        }
        #expect(entry?.name == "bob 3")
    }

    /// The options of the old line no longer apply.
    @Test func aKeyThatWasThereGetsTheBoundsOfTheCode() throws {
        let key = try server.admit("old") { $0.expires = Sample.now }
        let entry = try server.lists.enrol(key, named: "new", with: try code { $0.rights = .writeOnly })
        #expect(try keys() == [try #require(entry)] && entry?.name == "new" && entry?.options.rights == .writeOnly)
    }
    @Test func anotherListHasAnotherRevision() throws {
        let before = (keys: server.lists.keys.revision, tokens: server.lists.tokens.revision)
        _ = try server.admit("den")
        let after = server.lists.keys.revision
        #expect(after > before.keys && server.lists.tokens.revision == before.tokens)
        _ = try server.lists.expel { _ in false }
        #expect(server.lists.keys.revision == after)
        _ = try server.lists.expel { _ in true }
        #expect(server.lists.keys.revision > after)
    }

    /// An edit reads the list while it holds the lock, for example to decide about a name.
    @Test func anEditDoesNotKeepOthersFromReading() throws {
        let names = try server.lists.edit { [server] (editing) throws(AccessFault) in
            try editing.change(keys: { _ in server.lists.keys.list.entries.map(\.name) })
        }
        #expect(names.isEmpty)
    }
}
