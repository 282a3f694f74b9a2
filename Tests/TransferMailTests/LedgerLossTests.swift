import Glibc
import Testing
import TransferDatabase
import TransferLedger
import TransferModel
import TransferTestSupport

@testable import TransferMail

/// A lost ledger is not replaced by an empty one: otherwise the content of mail would be removed, because its
/// recipients are unknown.
@Suite struct LedgerLossTests {
    private let fixture: LedgerFixture

    init() throws { fixture = try LedgerFixture() }

    private func expectDamaged<T>(_ body: () throws -> T) {
        #expect {
            _ = try body()
        } throws: { error in
            (error as? RecordsError)?.reason == .damaged
        }
    }

    private func remove() { for suffix in DatabaseFile.suffixes { unlink(fixture.path + suffix) } }

    @Test func oneThatIsMissing() throws {
        expectDamaged { try fixture.openDatabase(mustExist: true) }
        #expect(access(fixture.path, F_OK) != 0)
        try fixture.openDatabase().close()
        _ = try fixture.openDatabase(mustExist: true)
    }

    @Test func oneThatIsEmpty() throws {
        close(creat(fixture.path, 0o600))
        expectDamaged { try fixture.openDatabase(mustExist: true) }
        _ = try fixture.openDatabase()
    }

    @Test func oneWithoutTables() throws {
        close(creat(fixture.path, 0o600))
        try fixture.execute("PRAGMA journal_mode = WAL")
        expectDamaged { try fixture.openDatabase(mustExist: true) }
    }

    /// Rows that are written to a file without a name would be lost.
    @Test func oneThatIsRemovedMeanwhile() throws {
        let ledger = try fixture.openDatabase()
        try ledger.queue(LedgerFixture.mail(1), to: ["bob"])
        remove()
        expectDamaged { try ledger.queue(LedgerFixture.mail(2), to: ["bob"]) }
        // The server does not make a new ledger either.
        expectDamaged { try ledger.queue(LedgerFixture.mail(3), to: ["bob"]) }
        #expect(access(fixture.path, F_OK) != 0)
    }

    @Test func oneThatIsReplacedMeanwhile() throws {
        let ledger = try fixture.openDatabase()
        try ledger.queue(LedgerFixture.mail(1), to: ["bob"])
        let other = try LedgerFixture()
        try other.openDatabase().close()
        remove()
        #expect(rename(other.path, fixture.path) == 0)
        // The server does not write to the other ledger either: the log beside that file can belong to the removed
        // ledger.
        for number in 2...3 { expectDamaged { try ledger.queue(LedgerFixture.mail(UInt64(number)), to: ["bob"]) } }
        expectDamaged { try ledger.inbox(of: "bob", after: 0, limit: 1) }
    }

    /// Another program, for example a backup, may read the ledger while a server starts.
    @Test func oneThatIsReadMeanwhile() throws {
        let first = try fixture.openDatabase()
        try first.queue(LedgerFixture.mail(1), to: ["bob"])
        let reader = try Database(path: fixture.path, called: "backup")
        try reader.execute("BEGIN")
        _ = try reader.execute("SELECT count(*) FROM mails")
        try first.queue(LedgerFixture.mail(2), to: ["bob"])
        let second = try fixture.openDatabase(mustExist: true)
        #expect {
            _ = try second.inbox(of: "bob", after: 0, limit: 9)
        } throws: { error in
            (error as? RecordsError)?.reason == .busy
        }
        try reader.execute("COMMIT")
        #expect(try second.inbox(of: "bob", after: 0, limit: 9).count == 2)
    }
}
