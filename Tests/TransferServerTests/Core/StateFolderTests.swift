import Glibc
import Testing
import TransferTestSupport

@testable import TransferServer

/// The folder with the catalog and the mailboxes belongs to one directory.
@Suite struct StateFolderTests {
    private let temporary: TemporaryDirectory

    init() throws {
        temporary = try TemporaryDirectory()
        for name in ["a/.transfer", "b/.transfer"] { try #require(mkdirs(temporary.path(name))) }
    }

    private func mkdirs(_ path: String) -> Bool {
        mkdir(String(path.dropLast(".transfer".utf8.count + 1)), 0o700) == 0 && mkdir(path, 0o700) == 0
    }

    private func open(_ state: String?, of name: String = "a", makes: Bool = true) throws -> StateFolder {
        try StateFolder(state.map(temporary.path), of: temporary.path(name), makes: makes)
    }

    private func message(_ body: () throws -> StateFolder) -> String {
        #expect(throws: ServerError.self) { _ = try body() }?.message ?? ""
    }

    @Test func withoutAnotherFolderItIsTheServersOwn() throws {
        let state = try open(nil)
        #expect(state.path == temporary.path("a/.transfer") && !state.hasLostRecords)
        #expect(try open(nil, makes: false).path == state.path)
    }

    @Test func itIsMadeAndKnownAgain() throws {
        for _ in 0..<2 {
            let state = try open("state")
            #expect(state.catalogPath == temporary.path("state/catalog.sqlite") && !state.hasLostRecords)
        }
        #expect(try open("state", makes: false).mailPath == temporary.path("state/mail.sqlite"))
    }

    /// A server that is killed between writing the two marks has marked only the `.transfer` folder.
    @Test func oneOfTheTwoMarksIsEnough() throws {
        _ = try open("state")
        unlink(temporary.path("state/directory"))
        #expect(try open("state").hasLostRecords)
        #expect(try !open("state").hasLostRecords)
    }

    @Test func itIsAskedFor() throws {
        _ = try open("state")
        #expect(message { try open(nil) }.contains("--state-dir"))
        #expect(message { try open(nil, makes: false) }.contains("--state-dir"))
    }

    @Test func itIsNotTakenForThatOfAnotherDirectory() throws {
        _ = try open("state")
        #expect(message { try open("state", of: "b") }.contains("another directory"))
        _ = try open("other", of: "b")
        #expect(message { try open("state", of: "b") }.contains("another directory"))
    }

    /// The server refuses another folder while the directory still holds records, instead of forgetting them.
    @Test(arguments: ["catalog.sqlite", "mail.sqlite"]) func recordsOfBeforeHaveToBeMoved(name: String) throws {
        try TestServer.write([1], to: temporary.path("a/.transfer/\(name)"))
        #expect(message { try open("state") }.contains("move catalog.sqlite* and mail.sqlite*"))
        #expect(rename(temporary.path("a/.transfer/\(name)"), temporary.path("state/\(name)")) == 0)
        _ = try open("state")
    }

    @Test func clientsHaveNoPathToIt() {
        #expect(message { try open("a/state") }.contains("clients write to"))
        #expect(message { try open("a/.transfer/state") }.contains("clients write to"))
    }

    @Test func theOwnFolderOfAnotherServerIsRefused() throws {
        try #require(mkdir(temporary.path("b/.transfer/incoming"), 0o700) == 0)
        #expect(message { try open("b/.transfer") }.contains("own folder"))
    }

    @Test func aTokenThatCannotBeReadIsNone() throws {
        _ = try open("state")
        try TestServer.write([], to: temporary.path("state/directory"))
        #expect(message { try open("state") }.contains("Cannot read"))
    }

    @Test func othersMayNotWriteInIt() throws {
        try #require(mkdir(temporary.path("state"), 0o777) == 0 && chmod(temporary.path("state"), 0o777) == 0)
        #expect(message { try open("state") }.contains("no other user may have write permission"))
    }

    @Test func aFolderWithoutACatalogIsNotLookedThrough() throws {
        _ = try open("state")
        try #require(mkdir(temporary.path("empty"), 0o700) == 0)
        #expect(message { try open("empty", makes: false) }.contains("no catalog"))
        #expect(message { try open("missing", makes: false) }.contains("No such file"))
    }
}
